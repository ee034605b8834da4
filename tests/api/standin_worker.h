/* A desktop worker without a desktop, for tests of cuad: it answers every action with made-up
 * figures, in a process of its own. */
#pragma once

/* Starts one and returns cuad's end of its E3. It ends when that end is closed.
 *
 * Frames are counted, one for each input action. A picture is "PICTURE n" with n the frame.
 * cursor_position tells what happened: x is the number of leases that have ended, y the number of the
 * last one of them, shape the last text that was typed. `wait` answers late without holding up
 * others. `drag` answers never. x of 5555 is out_of_screen. */
int standin_worker_start(void);
