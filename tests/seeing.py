"""What tests of attachments share: pictures of a few bytes, and an extractor that sees them."""

from recallmesh.core.bank import ExtractionMode
from recallmesh.core.retain import Attachment
from recallmesh.retain.extraction import Fact

SIGNATURES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\x00\x00\x00\x00WEBP",
}


def picture(said: str, media_type: str = "image/png") -> Attachment:
    return Attachment(media_type, SIGNATURES[media_type] + said.encode())


class Seeing:
    """Makes a fact of each line of text, and of each picture what its bytes say."""

    fingerprint = "seeing-1"
    modes = frozenset(ExtractionMode) - {ExtractionMode.CHUNKS}
    vision = True

    def __init__(self):
        self.read = []

    async def extract(self, passages, _mode, _tuning):
        self.read.extend(passages)
        return tuple(self._facts(passage) for passage in passages)

    def _facts(self, passage):
        words = [Fact(line) for line in passage.text.splitlines() if line.strip() and not line.startswith("[image: ")]
        seen = [
            Fact(f"A picture of {self._said(shown.image)}.", images=(index,))
            for index, shown in enumerate(passage.images)
        ]
        return (*words, *seen)

    @staticmethod
    def _said(image):
        return image.data.removeprefix(SIGNATURES[image.media_type])[:40].decode()
