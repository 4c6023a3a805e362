import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from zoo.errors import ZooError
from zoo.scenes.graph import sample_scene
from zoo.scenes.render import render, use_one_thread


@pytest.mark.usefixtures("renderer")
def test_equal_graphs_give_equal_images_in_any_process():
    graph = sample_scene(0, 5, 224, (4, 4))
    here = render(graph, 32, 4)
    with ProcessPoolExecutor(
        1, multiprocessing.get_context("spawn"), initializer=use_one_thread
    ) as pool:
        there = pool.submit(render, graph, 32, 4).result()
    assert here.shape == (32, 32, 3)
    assert here.dtype == np.uint8
    assert np.array_equal(here, there)


@pytest.mark.usefixtures("renderer")
def test_loading_a_scene_again_and_again_gives_one_image():
    graph = sample_scene(0, 5, 224, (4, 4))
    assert len({render(graph, 24, 2).tobytes() for _ in range(25)}) == 1


@pytest.mark.usefixtures("renderer")
def test_another_noise_seed_or_colour_gives_another_image():
    graph = sample_scene(0, 5, 48, (2, 2))
    first = replace(graph.objects[0], color="cyan" if graph.objects[0].color != "cyan" else "red")
    image = render(graph, 24, 2)
    assert not np.array_equal(image, render(replace(graph, seed=graph.seed + 1), 24, 2))
    assert not np.array_equal(
        image, render(replace(graph, objects=(first, graph.objects[1])), 24, 2)
    )


@pytest.mark.parametrize("shape", ["cube", "sphere", "cylinder"])
@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.usefixtures("renderer")
def test_an_object_is_seen_where_the_graph_says_and_in_its_colour(shape, index):
    graph = sample_scene(0, index, 48, (2, 2))
    colors = ("red", "blue")
    objects = tuple(
        replace(o, shape=shape, color=color) for o, color in zip(graph.objects, colors, strict=True)
    )
    image = render(replace(graph, objects=objects), 48, 16).astype(int)
    for object, channel in zip(objects, (0, 2), strict=True):
        others = np.delete(image, channel, axis=2).max(2)
        rows, columns = np.nonzero(image[:, :, channel] > 1.4 * others + 10)
        x, y, enlargement = graph.camera.project_with_scale(object.position)
        assert columns.mean() == pytest.approx(24 * (1 + x), abs=2.5)
        assert rows.mean() == pytest.approx(24 * (1 - y), abs=2.5)
        assert len(rows) > 0.6 * np.pi * (24 * 0.8 * object.radius * enlargement) ** 2


def test_a_missing_renderer_is_an_error_that_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "drjit", None)
    monkeypatch.setitem(sys.modules, "mitsuba", None)
    with pytest.raises(ZooError, match=r"pip install 'clip-zoo\[scenes\]'"):
        render(sample_scene(0, 0, 48), 24, 1)
