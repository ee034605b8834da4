/* Functions that nobody here may call; included by force for every file of ours. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef strtok
#define strcpy(...) strcpy_is_banned_use_snprintf
#define strcat(...) strcat_is_banned_use_snprintf
#define strncpy(...) strncpy_is_banned_use_snprintf
#define strncat(...) strncat_is_banned_use_snprintf
#define sprintf(...) sprintf_is_banned_use_snprintf
#define vsprintf(...) vsprintf_is_banned_use_vsnprintf
#define strtok(...) strtok_is_banned_use_strtok_r
#define atoi(...) atoi_is_banned_use_strtol
#define atol(...) atol_is_banned_use_strtol
#define system(...) system_is_banned_use_execve
