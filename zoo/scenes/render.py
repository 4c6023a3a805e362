"""Rendering of scene graphs with Mitsuba's path tracer on the CPU.

No other file imports Mitsuba. Equal graphs give equal images, in any process and with any number of
threads. This requires `optimize=False`; otherwise Mitsuba changes the order of shapes and lamps on
every load.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.errors import import_optional
from zoo.scenes.graph import BLOCK, SceneGraph, SceneObject
from zoo.scenes.solids import SOLIDS, Mesh, mesh

# from CLEVR, from 0 to 255
SRGB = {
    "gray": (87, 87, 87),
    "red": (173, 35, 35),
    "blue": (42, 75, 215),
    "green": (29, 105, 20),
    "brown": (129, 74, 25),
    "purple": (129, 38, 192),
    "cyan": (41, 208, 208),
    "yellow": (255, 238, 51),
}
LAMP_RADIANCE = (110.0, 30.0, 40.0)  # key, fill, back


def renderer_version() -> str:
    """Returns the name and version of the renderer."""
    return f"mitsuba {_mitsuba().__version__}"


def use_one_thread() -> None:
    """Limits the renderer to one thread, for one of several workers."""
    _mitsuba()
    drjit: Any = import_optional("drjit", "scenes")
    drjit.set_thread_count(1)


def render(graph: SceneGraph, size: int, samples: int) -> NDArray[np.uint8]:
    """Renders a scene.

    Args:
        graph: The scene.
        size: The side of the image, in pixels.
        samples: Number of paths traced per pixel.

    Returns:
        The image in sRGB, `[size, size, 3]`.

    Raises:
        ZooError: Mitsuba is not installed.
    """
    mi = _mitsuba()
    scene = mi.load_dict(_scene(mi, graph, size), optimize=False)
    image = mi.render(scene, spp=samples, seed=graph.seed)
    bitmap = mi.Bitmap(image).convert(
        mi.Bitmap.PixelFormat.RGB, mi.Struct.Type.UInt8, srgb_gamma=True
    )
    return np.array(bitmap)


def _mitsuba() -> Any:
    mi: Any = import_optional("mitsuba", "scenes")
    if mi.variant() != "scalar_rgb":
        mi.set_variant("scalar_rgb")
    return mi


def _scene(mi: Any, graph: SceneGraph, size: int) -> dict[str, Any]:
    scene: dict[str, Any] = {
        "type": "scene",
        # lamps are inside CLEVR's view and would be visible as white discs
        "integrator": {"type": "path", "max_depth": 5, "hide_emitters": True},
        "sensor": {
            "type": "perspective",
            "fov": graph.camera.fov,
            "fov_axis": "smaller",
            "to_world": mi.ScalarTransform4f().look_at(
                graph.camera.origin, graph.camera.target, (0, 0, 1)
            ),
            "film": {
                "type": "hdrfilm",
                "width": size,
                "height": size,
                "rfilter": {"type": "gaussian"},
            },
            "sampler": {"type": "independent"},
        },
        "sky": {"type": "constant", "radiance": 0.35},
        # so large that its edges are never visible
        "ground": {
            "type": "rectangle",
            "to_world": mi.ScalarTransform4f().scale(300),
            "bsdf": {"type": "diffuse", "reflectance": _rgb((0.5, 0.5, 0.5))},
        },
    }
    for i, (lamp, radiance) in enumerate(zip(graph.lamps, LAMP_RADIANCE, strict=True)):
        emitter = {"type": "area", "radiance": _rgb((radiance,) * 3)}
        scene[f"lamp{i}"] = {
            "type": "sphere",
            "center": list(lamp),
            "radius": 0.5,
            "emitter": emitter,
        }
    for i, object in enumerate(graph.objects):
        for j, shape in enumerate(_object_surfaces(mi, object)):
            scene[f"object{i}_{j}"] = shape
    return scene


def _object_surfaces(mi: Any, object: SceneObject) -> list[Any]:
    """Returns the surfaces of an object. A cylinder is a tube and two discs."""
    bsdf = _material(object)
    blocky = object.shape in ("cube", "cylinder")
    radius = BLOCK * object.radius if blocky else object.radius
    transform = (
        mi.ScalarTransform4f()
        .translate(object.position)
        .rotate((0, 0, 1), math.degrees(object.rotation))
        .scale(radius)
    )
    if object.shape == "sphere":
        return [{"type": "sphere", "to_world": transform, "bsdf": bsdf}]
    if object.shape == "cube":
        return [{"type": "cube", "to_world": transform, "bsdf": bsdf}]
    if object.shape in SOLIDS:
        return [_mesh(mi, mesh(object.shape), transform, bsdf)]
    top, bottom = (
        transform.translate((0, 0, 1)),
        transform.translate((0, 0, -1)).rotate((1, 0, 0), 180),
    )
    return [
        {
            "type": "cylinder",
            "p0": (0, 0, -1),
            "p1": (0, 0, 1),
            "radius": 1.0,
            "to_world": transform,
            "bsdf": bsdf,
        },
        {"type": "disk", "to_world": top, "bsdf": bsdf},
        {"type": "disk", "to_world": bottom, "bsdf": bsdf},
    ]


def _mesh(mi: Any, surface: Mesh, transform: Any, bsdf: dict[str, Any]) -> Any:
    corners, triangles = surface
    properties = mi.Properties()
    properties["mesh_bsdf"] = mi.load_dict(bsdf)
    solid = mi.Mesh("solid", len(corners), len(triangles), props=properties)
    parameters = mi.traverse(solid)
    placed = corners @ np.array(transform.matrix)[:3, :3].T + np.array(transform.matrix)[:3, 3]
    parameters["vertex_positions"] = placed.astype(np.float32).ravel()
    parameters["faces"] = triangles.ravel()
    parameters.update()
    return solid


def _material(object: SceneObject) -> dict[str, Any]:
    red, green, blue = (_srgb_to_linear(value / 255) for value in SRGB[object.color])
    if object.material == "rubber":
        # not `roughplastic`, which takes longer to load than the image takes to render
        surface = {
            "type": "principled",
            "base_color": _rgb((red, green, blue)),
            "roughness": 0.5,
            "specular": 0.4,
        }
    else:
        # a smoother metal causes bright specks with few samples
        tint = _rgb((0.15 + 0.85 * red, 0.15 + 0.85 * green, 0.15 + 0.85 * blue))
        surface = {
            "type": "roughconductor",
            "material": "none",
            "alpha": 0.18,
            "specular_reflectance": tint,
        }
    return {"type": "twosided", "bsdf": surface}


def _srgb_to_linear(srgb: float) -> float:
    return srgb / 12.92 if srgb <= 0.04045 else float(((srgb + 0.055) / 1.055) ** 2.4)


def _rgb(value: tuple[float, ...]) -> dict[str, Any]:
    return {"type": "rgb", "value": list(value)}
