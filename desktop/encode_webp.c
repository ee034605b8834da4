/* WebP by libwebp, lossy. It is compressed as a whole: what it writes depends on all that came before. */
#include <webp/encode.h>

#include "desktop/encode_priv.h"

/* 0 is fastest, 6 smallest; from 2 on the time doubles for a few per cent. */
#define METHOD 1

static int write_some(const uint8_t *data, size_t len, const WebPPicture *picture) {
	return encoded_add(picture->custom_ptr, data, len, NULL) == 0;
}

int webp_file(struct view view, int quality, struct encoded *ret, struct cua_err *err) {
	WebPConfig config;
	WebPPicture picture;
	if (!WebPConfigInit(&config) || !WebPPictureInit(&picture)) {
		return cua_err_set(
			err, CUA_INTERNAL, "libwebp has another version than its headers");
	}
	config.quality = (float)quality;
	config.method = METHOD;
	picture.width = view.width;
	picture.height = view.height;
	picture.writer = write_some;
	picture.custom_ptr = ret;
	int done = WebPPictureImportBGRX(
		&picture, (const uint8_t *)view.pixels, (int)(view.stride * sizeof(uint32_t)));
	done = done && WebPEncode(&config, &picture);
	WebPPictureFree(&picture);
	return done ? 0 : cua_err_set(err, CUA_INTERNAL, "the WebP compressor failed");
}
