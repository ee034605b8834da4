/* What a container needs before anything runs in it and what its template or liblxc may lack. */
#pragma once

#include "cua/err.h"

/* Mounts what is missing (/proc, /dev/pts, /dev/shm), makes the directories of the run time, gives
 * the machine an id, names it in /etc/hosts and brings the loopback interface up. Every step is
 * tried; what failed is logged, since a desktop may do without. */
void boot_prepare(void);
