/* A made-up screen to encode: what a browser and a terminal show, drawn without either. */
#pragma once

#include "desktop/frame.h"

/* Fills the frame with photographs, gradients, text with soft edges and flat areas; the same for the
 * same seed. */
void page_draw(struct frame *frame, unsigned seed);
/* Draws one letter into a cell of 8 x 16 pixels whose corner is inside the frame. */
void page_letter(struct frame *frame, int x, int y, unsigned letter);
