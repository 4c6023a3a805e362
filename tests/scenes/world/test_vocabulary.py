from pathlib import Path

import open_clip

from tests.scenes.world.test_captions import DESCRIBED
from zoo.backbones.backbone import Backbone
from zoo.backbones.factory import SHIPPED
from zoo.scenes.world.foils import unit_record
from zoo.scenes.world.vocabulary import words, write_merges


def test_captions_units_and_foils_use_only_the_words_of_the_vocabulary():
    known = set(words())
    for graph, captions in DESCRIBED[:50]:
        for k, caption in enumerate(captions):
            record = unit_record(graph, caption, str(k), "image")
            texts = [record.caption, *(f.text for e in record.entities for f in e.foils)]
            texts += [f.text for relation in record.relations for f in relation.foils]
            assert {w for text in texts for w in text.replace(",", "").split()} <= known


def test_the_shipped_merges_are_those_of_the_words(tmp_path):
    full = Path(open_clip.tokenizer.default_bpe())
    size = write_merges(full, tmp_path / "merges.txt.gz")
    shipped = SHIPPED / "zoo-world.bpe.txt.gz"
    assert shipped.read_bytes() == (tmp_path / "merges.txt.gz").read_bytes()
    cut, whole = open_clip.SimpleTokenizer(bpe_path=str(shipped)), open_clip.SimpleTokenizer()
    assert cut.vocab_size == size
    for word in words():
        pieces = [
            [tokenizer.decoder[i] for i in tokenizer.encode(word)] for tokenizer in (cut, whole)
        ]
        assert pieces[0] == pieces[1]


def test_the_tower_has_at_most_four_million_parameters_and_the_cut_tokenizer():
    backbone = Backbone("zoo-world", pretrained=None)
    assert sum(p.numel() for p in backbone.model.parameters()) < 4_000_000
    ids, lengths, _ = backbone.tokenizer(["a red ball on a table"])
    assert lengths.tolist() == [8]
    assert int(ids.max()) == backbone.model.vocab_size - 1
