import numpy as np
import pytest

from zoo.scenes.graph import ALL_SHAPES, OUTLINE, REST, SHAPES
from zoo.scenes.solids import SOLIDS, mesh


def test_every_shape_beyond_clevrs_has_a_surface():
    assert set(ALL_SHAPES) - set(SHAPES) == set(SOLIDS)


@pytest.mark.parametrize("shape", SOLIDS)
def test_a_solid_is_closed_faces_outwards_and_rests_on_the_ground_inside_its_outline(shape):
    corners, triangles = mesh(shape)
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    points = np.unique(corners.round(5), axis=0, return_inverse=True)[1].ravel()
    there = {(a, b) for a, b in points[edges] if a != b}
    assert all((b, a) in there for a, b in there), "an edge without a neighbour"
    a, b, c = (corners[triangles[:, k]].astype(float) for k in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6 > 0.5, "volume"
    assert -corners[:, 2].min() == pytest.approx(REST[shape], abs=1e-6)
    assert OUTLINE[shape] - 0.05 < np.linalg.norm(corners, axis=1).max() <= OUTLINE[shape]
