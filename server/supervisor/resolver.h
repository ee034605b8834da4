/* The sessions' name server: dnsmasq on the gateway address, under its own user, with nothing of the
 * host's own names in it. Started again when it dies. */
#pragma once

#include "cua/msg.h"
#include "server/supervisor/loop.h"

struct resolver;

/* The gateway address must be up. Servers come from config->dns, or else from the host's
 * resolv.conf, which is followed as it changes. What goes wrong is logged; sessions live on without
 * names. */
struct resolver *resolver_new(struct loop *loop, const cua_Config *config, const char *gateway);
/* Stops it. NULL is fine. Returns NULL. */
struct resolver *resolver_free(struct resolver *resolver);
