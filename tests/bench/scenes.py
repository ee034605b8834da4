"""What is on the screens that are measured: photographs and text, drawn here so that they are the same everywhere."""
import random

from PIL import Image, ImageChops, ImageDraw, ImageFont

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"


def photograph(size, seed):
    """Clouds of noise at every scale, as the light in a photograph is, and some grain."""
    choice = random.Random(seed)
    picture = Image.new("RGB", size, (128, 128, 128))
    cells = 3
    while cells < size[0] / 2:
        small = Image.frombytes("RGB", (cells, cells), choice.randbytes(cells * cells * 3))
        picture = Image.blend(picture, small.resize(size, Image.BICUBIC), 0.42)
        cells *= 2
    grain = Image.frombytes("RGB", size, choice.randbytes(size[0] * size[1] * 3)).point(lambda v: v // 24)
    return ImageChops.add(picture, grain)


def font(pixels):
    try:
        return ImageFont.truetype(FONT, pixels)
    except OSError:
        return ImageFont.load_default()


def page(size, seed):
    """A page of a busy web site: bars, columns of text, photographs over a third of it."""
    choice = random.Random(seed)
    width, height = size
    picture = Image.new("RGB", size, (255, 255, 255) if seed % 2 else (24, 26, 30))
    draw = ImageDraw.Draw(picture)
    ink = (30, 30, 30) if seed % 2 else (220, 220, 225)
    draw.rectangle((0, 0, width, height // 16), fill=(40, 90, 160) if seed % 2 else (120, 50, 60))
    words = [w * choice.randint(1, 2) for w in "desk quick brown fox jumps over lazy dog and runs home".split()]
    letters = font(13)
    for column in range(0, width, 320):
        for y in range(height // 16 + 8, height - 8, 17):
            line = " ".join(choice.choice(words) for _ in range(6))
            draw.text((column + 8, y), line[:44], fill=ink, font=letters)
    area = 0
    while area < width * height / 3:
        w, h = choice.randint(width // 8, width // 3), choice.randint(height // 6, height // 3)
        picture.paste(photograph((w, h), choice.random()),
                      (choice.randint(0, width - w), choice.randint(height // 16, height - h)))
        area += w * h
    return picture


def raw(picture):
    return picture.convert("RGB").tobytes("raw", "BGRX")
