/* Every hard limit of the project in one place.
 *
 * Whatever a client, a viewer, a container or a file can make larger has a line here. Sizes are
 * bytes and times milliseconds unless the name says otherwise. Strings count their closing NUL. */
#pragma once

/* Names (see ident.h). */
#define CUA_ID_LEN 12
#define CUA_ID_SIZE (CUA_ID_LEN + 1)
#define CUA_NAME_MAX 32
#define CUA_NAME_SIZE (CUA_NAME_MAX + 1)
#define CUA_USER_SIZE 33
#define CUA_PATH_SIZE 4096
#define CUA_TITLE_SIZE 256

/* Messages between our processes (see msg.h). */
#define CUA_MSG_MAX 65536
#define CUA_MSG_FDS 4
#define CUA_MSG_BLOBS 4
#define CUA_MSG_INLINE 32768 /* blobs up to here travel in the datagram */
#define CUA_BLOB_MAX (64u << 20) /* one blob, in a sealed memfd */
#define CUA_CHAN_BACKLOG 1024 /* messages queued for a peer that does not read */

/* Screens. */
#define CUA_SCREEN_MIN_W 320
#define CUA_SCREEN_MIN_H 240
#define CUA_SCREEN_MAX_W 7680
#define CUA_SCREEN_MAX_H 4320

/* Actions. */
#define CUA_TEXT_MAX (1u << 20) /* `type` */
#define CUA_KEYBOARD_MS 30000 /* for a program to handle the keys that it was sent */
#define CUA_KEYS_AHEAD 4096 /* keys that a program may not have handled yet while more are typed */
#define CUA_KEYS_SIZE 1024
#define CUA_PATH_POINTS 512
#define CUA_SCROLL_MAX 100 /* clicks of the wheel in one action */
#define CUA_HOLDS_MAX 256 /* keys and buttons that are held in a session */
#define CUA_WAIT_MAX_MS 60000
#define CUA_WAIT_FOR_MS 10000 /* `wait_for` that does not say */
#define CUA_BATCH_MAX 256
#define CUA_CHANGED_MAX 16 /* rectangles told in a result */
#define CUA_WINDOWS_MAX 64 /* told in a result */
#define CUA_WINDOW_MS 1000 /* for a window manager to do what it was asked for */
#define CUA_SIZE_PAUSE_MS 200 /* between two sizes of a screen that a worker tells */
#define CUA_SCREEN_FOLLOW_MS 2000 /* for a desktop to take over another size of the screen */
#define CUA_JOBS_MAX 256 /* actions under way in one worker */
#define CUA_PICTURES_MAX 8 /* encoded pictures that a worker keeps */
#define CUA_PICTURES_BYTES (6u << 20) /* together; the last one is kept whatever its size */
#define CUA_PICTURES_KEEP_MS 30000 /* without being asked for again */
#define CUA_JOBS_TEXT_MAX (64u << 20) /* their texts together */
#define CUA_CLIPBOARD_MAX (16u << 20) /* one text of the clipboard */
#define CUA_CLIP_TRANSFERS 32 /* texts on their way to programs */
#define CUA_CLIP_STALL_MS 4500 /* a transfer between programs without progress */
#define CUA_CLIP_TOTAL_MS 15000 /* reading a selection, or a program reading a paste */
#define CUA_PASTE_MS 2000 /* until a program has asked for what it is to paste */
#define CUA_WORKER_SOCKETS 4 /* connections into the container that a worker waits for */
#define CUA_UI_NODES_MAX 10000 /* accessible nodes in an answer, or looked at for one */
#define CUA_UI_DEPTH_MAX 100
#define CUA_UI_TIMEOUT_MAX_MS 15000
#define CUA_UI_BYTES_MAX (4u << 20) /* of the nodes in an answer */
#define CUA_UI_NAME_MAX 512 /* bytes of a node's name */
#define CUA_UI_VALUE_MAX 1024 /* and of its value */
#define CUA_UI_APPS_MAX 128 /* programs that are asked at once */
#define CUA_UI_PATTERN_MAX 256 /* bytes of a regular expression */
#define CUA_WORKER_MEMORY (2ull << 30) /* of a worker that a hostile X server floods */

/* Commands and files. */
#define CUA_ARGV_BYTES (2u << 20)
#define CUA_ARGV_COUNT 16384
#define CUA_ARG_BYTES (128u << 10) /* the kernel's own limit for one string */
#define CUA_OUTPUT_DEFAULT (1u << 20)
#define CUA_OUTPUT_MAX (16u << 20)
#define CUA_EXEC_TIMEOUT_MS 120000
#define CUA_EXEC_TIMEOUT_MAX_MS (24 * 3600 * 1000)
#define CUA_EXEC_PER_SESSION 256
#define CUA_FILE_READ_MAX (16u << 20) /* one `file_read` answer; HTTP streams any size */
#define CUA_LIST_ENTRIES 10000

/* Sessions. */
#define CUA_SESSIONS_MAX 1000
#define CUA_LABELS_MAX 32
#define CUA_OPS_MAX 16 /* blocking container operations at once */
#define CUA_DISK_FREE_MS 250 /* to wait for the loop device of a disk to be free */
#define CUA_KILL_WAIT_MS 10000 /* until a killed process must be gone */
#define CUA_MONITOR_WAIT_MS 5000 /* for liblxc's monitor to tidy up by itself */
#define CUA_DPI_MIN 30
#define CUA_DPI_MAX 600
#define CUA_CPU_MILLI_MIN 50 /* a thousandth of a CPU each */
#define CUA_CPU_MILLI_MAX 1024000
#define CUA_MEMORY_MIN (64ull << 20)
#define CUA_MEMORY_MAX (64ull << 40)
#define CUA_PIDS_MIN 32
#define CUA_PIDS_MAX 4194304
#define CUA_DISK_MIN (32ull << 20)
#define CUA_DISK_MAX (16ull << 40)

/* The supervisor. */
#define CUA_START_MS 30000 /* from the request to running */
#define CUA_OP_MS 60000 /* any other operation in a child */
#define CUA_STOP_GRACE_MS 1000 /* between asking a container to stop and killing it */
#define CUA_START_MEMORY (64ull << 20) /* what a session that is starting will take soon */
#define CUA_BACKOFF_MIN_MS 100 /* before a program that died is started again */
#define CUA_BACKOFF_MAX_MS 5000
#define CUA_BUILDS_MAX 2 /* templates being built at once */
#define CUA_FAILED_KEPT 64 /* failed launches that are still told of */
#define CUA_WAITERS_MAX 16 /* requests that wait for the same operation */
#define CUA_EDGE_BURST 16 /* messages taken from one peer at a time */

/* The front door. */
#define CUA_BODY_MAX (32u << 20) /* an HTTP body that is not a file */
#define CUA_CONNECTIONS_MAX 1024
#define CUA_IDLE_SECS 15 /* a connection that has not sent its request */
#define CUA_RPC_INFLIGHT 64 /* unanswered requests of one connection */
#define CUA_RPC_BYTES (64u << 20) /* which they came in */
#define CUA_JSON_VALUES 500000 /* in one text of a client; each costs memory beyond its bytes */
#define CUA_LABEL_KEY_MAX 64
#define CUA_LABEL_VALUE_MAX 256
#define CUA_LIFE_MAX_MS (10ull * 365 * 24 * 3600 * 1000) /* `ttl` and `idle` */
#define CUA_HTTP_HOLD_MS 30000 /* a key that an HTTP request pressed and none releases */
#define CUA_HELLO_MS 10000 /* until a new edge has greeted */
#define CUA_USAGE_MS 3000 /* for a session's figures; then the last ones are shown */
#define CUA_CREATE_REPLY_MS 120000 /* for the supervisor to accept, or to remove */
#define CUA_ACTION_SPARE_MS 20000 /* for the worker, beyond what the action itself waits */
#define CUA_HANGUP_MS 5000 /* from a terminal's hang-up to the kill */
#define CUA_HEAD_MAX 32768 /* request line and headers */
#define CUA_HEADERS_MAX 64
#define CUA_QUERY_MAX 32 /* parameters behind the '?' */
#define CUA_PATH_PARAMS 4 /* {name} parts of one route */
#define CUA_QUEUE_LOW (256u << 10) /* a source that waited for a client goes on below this */
#define CUA_WS_QUEUE_MAX (72u << 20) /* unread by a WebSocket client: then it is too slow */
#define CUA_STALL_SECS 60 /* a client that takes none of what is there for it */
#define CUA_LINGER_SECS 30 /* reading on after an early answer, so that it arrives */
#define CUA_WS_PING_SECS 7 /* a client that leaves one unanswered holds no key any more */
#define CUA_WS_SILENT_SECS 600 /* it may still be one that reads only when it waits for an answer */
#define CUA_WS_CLOSE_SECS 5 /* waiting for the other side's close frame */
#define CUA_TOKEN_LABEL_SIZE 65
#define CUA_TOKENS_MAX 4096
#define CUA_TICKETS_MAX 256
#define CUA_TICKET_SECS 60
#define CUA_COOKIES_MAX 1024
#define CUA_COOKIE_SECS 43200
#define CUA_AUTH_PEERS 256 /* addresses whose failed attempts are remembered */
#define CUA_AUTH_FAILS 20 /* of one address in the window, then 429 */
#define CUA_AUTH_WINDOW_SECS 60
#define CUA_CONFIG_BYTES (256u << 10)
#define CUA_LISTENERS_MAX 8
#define CUA_ALLOW_MAX 32
#define CUA_DNS_MAX 4
#define CUA_ORIGINS_MAX 16

/* PID 1 of a container. */
#define CUA_FILE_OPS 64 /* file requests of one session at once */
#define CUA_TREE_DEPTH 512 /* directories below each other that `file_remove` walks */
#define CUA_ACCOUNT_BYTES (1u << 20) /* /etc/passwd, /etc/group, /etc/hosts of a container */
#define CUA_GROUPS_MAX 64
#define CUA_SERVICES_MAX 32
#define CUA_SERVICES_BYTES 65536
#define CUA_SERVICE_ARGS 128
#define CUA_SERVICE_BACKOFF_MS 100
#define CUA_SERVICE_BACKOFF_MAX_MS 5000
#define CUA_SERVICE_WAIT_MS 10000 /* for the path of `wait=` */
#define CUA_DISPLAY_READY_MS 30000
#define CUA_INIT_STOP_MS 300 /* between TERM and KILL when the container stops */
#define CUA_KILL_MS 10000 /* for the processes of a command to be gone */
#define CUA_PTY_BYTES 65536 /* each way between a terminal and its client */
#define CUA_PTY_DRAIN_MS 1000
#define CUA_LOG_BYTES (1u << 20) /* a program's log is begun anew beyond that */
