/* Telling systemd how far the service is; see sd_notify(3), whose protocol is one datagram. libsystemd
 * itself is not an option here: liblxc 5.0.2 exports symbols that clash with it. */
#pragma once

/* The service answers requests now. Nothing happens where nobody waits for it (NOTIFY_SOCKET is not
 * set) or the manager is gone. */
void notify_ready(void);
