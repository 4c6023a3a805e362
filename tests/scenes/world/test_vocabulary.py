import hashlib
from pathlib import Path

import open_clip
import torch
from PIL import Image
from safetensors.torch import load

import zoo
from tests.scenes.world.test_captions import DESCRIBED
from zoo.backbones.backbone import Backbone
from zoo.backbones.catalogue.entry import entries
from zoo.backbones.factory import SHIPPED, shipped_weights
from zoo.cli import main
from zoo.scenes.world.foils import unit_record
from zoo.scenes.world.painter import paint
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


def test_the_weights_of_the_entry_are_in_the_package_and_load_by_name():
    entry = entries()["scenes"]
    content = shipped_weights(entry.architecture, entry.tag).read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry.sha256
    assert len(content) < 8_000_000
    stored = load(content)
    assert {tensor.dtype for tensor in stored.values()} == {torch.float16}
    loaded = Backbone("zoo-world", pretrained="scenes").model.state_dict()
    assert all(torch.equal(loaded[name], tensor.float()) for name, tensor in stored.items())


def test_plain_open_clip_loads_the_shipped_tower_with_equal_vectors(tmp_path):
    model = zoo.load("scenes")
    assert main(["export", "scenes", str(tmp_path / "tower")]) == 0
    plain, preprocess = open_clip.create_model_from_pretrained(f"local-dir:{tmp_path / 'tower'}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{tmp_path / 'tower'}")
    graph, captions = DESCRIBED[0]
    image, texts = Image.fromarray(paint(graph, 112)), [str(caption) for caption in captions]
    with torch.no_grad():
        vectors = (
            plain.encode_image(preprocess(image)[None], normalize=True),
            plain.encode_text(tokenizer(texts), normalize=True),
        )
    torch.testing.assert_close(vectors[0], torch.from_numpy(model.encode_images([image])))
    torch.testing.assert_close(vectors[1], torch.from_numpy(model.encode_texts(texts)))


def test_the_shipped_tower_finds_the_caption_of_a_scene():
    model = zoo.load("scenes")
    images = [Image.fromarray(paint(graph, 112)) for graph, _ in DESCRIBED[:20]]
    scores = model.score(images, [str(captions[0]) for _, captions in DESCRIBED[:20]])
    assert (scores.argmax(1) == range(20)).mean() > 0.7  # chance is 0.05
