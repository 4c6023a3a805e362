r"""CPU seconds and peak memory of `zoo fit` and of open_clip's trainer, for the same training.

    git clone https://github.com/mlfoundations/open_clip
    python benchmarks/speed/open_clip_trainer.py --open_clip open_clip --data DATA_ROOT/flickr8k

Both train CLIP with the architecture zoo-tiny from random weights, one epoch of `--steps` batches,
in fp32, alternately, each in a new process on one core without loader workers. They have the same
images, captions, crops, learning-rate schedule and AdamW. Start and end of the process are
included: imports, reading captions, one checkpoint. `--data` is a CSV with the columns `filepath`
and `title`, or a folder with Flickr8k's token file and images. Without it, JPEGs are drawn. Without
`--open_clip`, the installed `open_clip_train` is used.

After the pairs, each trainer runs once more with a sampling profiler, which attributes CPU time to
parts, so that the measured runs are undisturbed. Last, both train on one batch with the same
weights and whole images for a few steps, and their losses are compared.

Expectation before the first recorded run: 0.82 to 0.90 of open_clip's CPU seconds, and 1,589 MiB
against 1,446 MiB at peak. The aim is 0.75 and equal memory.

Writes open_clip_trainer.json and open_clip_trainer.md.
"""

import argparse
import atexit
import csv
import json
import math
import os
import platform
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from types import CodeType, FrameType
from typing import Any

REPOSITORY = Path(__file__).parents[2]
RESULTS = REPOSITORY / "benchmarks" / "results" / "open_clip_trainer"
ARCHITECTURE = REPOSITORY / "zoo" / "backbones" / "architectures" / "zoo-tiny.json"
TRAINERS = ("zoo", "open_clip")
OPTIMIZER: dict[str, Any] = {"lr": 5e-4, "weight_decay": 0.01, "betas": [0.9, 0.98], "eps": 1e-6}
CROP_SCALE = (0.9, 1.0)
CHECKED_STEPS = 5
INTERVAL = 0.005  # CPU seconds between two samples of the profiler
SIDE, DRAWN = 112, 1000  # pixels and number of drawn images
SUBJECTS = ["a man", "a young woman", "two children", "three dogs", "the small brown cat"]
VERBS = ["runs", "sits down", "stands and looks", "plays with a ball", "jumps"]
PLACES = ["on the grass", "near a wooden bench", "in the snow", "by the water at night", "there"]

ZOO = "from zoo.cli.commands import main; raise SystemExit(main())"
OPEN_CLIP = (
    "import sys, open_clip; open_clip.add_model_config(sys.argv[1]); "
    "from open_clip_train.main import main; main(sys.argv[2:])"
)
WEIGHTS = (
    "import sys, torch; from zoo.backbones import Backbone; torch.manual_seed(0); "
    "torch.save(Backbone('zoo-tiny').model.state_dict(), sys.argv[1])"
)
PROFILED = "from open_clip_trainer import start_profiler; start_profiler({path!r}); "

# Parts of the training loop by parts of file paths and, after a colon, a function. The innermost
# frame of the stack that is listed decides.
LOOP = ("zoo/training/stopping.py:advance", "open_clip_train/train.py:train_one_epoch")
PARTS = {
    "decode": (
        "zoo/pixels/decoding.py",
        "zoo/sources/images.py",
        "PIL/ImageFile.py",
        "PIL/JpegImagePlugin.py",
        "PIL/Image.py:open",
    ),
    "crop, resize, normalise": (
        "zoo/backbones/preparation.py",
        "zoo/datamodules/dataset.py:_transform",
        "torchvision/transforms/",
        "open_clip/transform.py",
    ),
    "tokenise": ("zoo/backbones/tokenizer.py", "open_clip/tokenizer.py"),
    "image tower, forward": (
        "zoo/backbones/backbone.py:encode_images",
        "open_clip/model.py:_encode_image",
    ),
    "text tower, forward": (
        "zoo/backbones/backbone.py:encode_texts",
        "open_clip/model.py:_encode_text",
    ),
    "loss, forward": ("zoo/objectives/", "zoo/heads/", "zoo/scores.py", "open_clip/loss.py"),
    "backward": ("torch/autograd/",),
    "optimiser": ("torch/optim/",),
    "logging": (
        "/logging/__init__.py",
        "lightning/pytorch/core/module.py:log",
        "lightning/pytorch/loggers/",
        "lightning/pytorch/trainer/connectors/logger_connector/",
        "zoo/module/step_numbers.py",
        "zoo/training/console_output.py",
        "zoo/training/metrics_log.py",
    ),
    "checkpoint": ("torch/serialization.py", "zoo/training/callbacks.py", "zoo/checkpoints/"),
    # Lightning calls the closure of a step from within the optimiser
    "rest": ("lightning/pytorch/loops/optimization/automatic.py",),
}
IMPORTS, START, END = "start: imports", "start: rest", "end"
LOOP_FRAME, FIRST_STEP = "loop", "MiB at the first step"
KIB_PER_MIB = 1024  # the kernel gives peak memory in KiB
PAIR_HEADINGS = [
    "pair",
    "zoo, CPU seconds",
    "open_clip, CPU seconds",
    "ratio",
    "zoo, MiB",
    "open_clip, MiB",
    "ratio",
    "zoo, loss",
    "open_clip, loss",
]
PAGE = """# CLIP with `zoo fit` and with open_clip's trainer

`python benchmarks/speed/open_clip_trainer.py`: {steps} steps of {batch} pairs with zoo-tiny in
fp32, on one core without loader workers, alternately, each run in a new process. CPU seconds are
user and system time from the start of the process to its end. MiB is the peak of resident memory.

{about}

## Runs

{pairs}

Losses are those of the first and the last step, from different random weights and orders.

## CPU seconds by part

From one more run of each, with a sampling profiler. A part includes what it calls.

{parts}

## Losses with the same weights

Both trained {batch} pairs in one batch, from the same weights, on whole images that PIL decodes
and resizes. open_clip logs five digits. It applies no weight decay to the tables of positions;
zoo applies it to all matrices.

{check}

## Differences

- zoo cuts texts to lengths of 8, 16, 24, 32, 48 and 77 tokens. open_clip pads all to 77.
- zoo decodes and resizes with torchvision, open_clip with PIL. Pixels differ by one grey level at
  most.
- zoo checks captions and images before the first step, logs more steps at the start, and writes a
  checkpoint from which training can resume within an epoch. open_clip logs every tenth step.
- The text tower of open_clip's clone and that of the installed open_clip, which zoo uses, may
  differ in code.
"""


@dataclass(frozen=True)
class Task:
    """What both trainers train on.

    Attributes:
        captions: The CSV.
        steps: Steps, in one epoch unless `epochs` are given.
        batch: Pairs in a batch.
        epochs: Epochs, over which the steps are spread.
        weights: Initial weights; None for random ones.
        whole_images: Whether images are resized whole by PIL, without random crops.
    """

    captions: Path
    steps: int
    batch: int
    epochs: int = 1
    weights: Path | None = None
    whole_images: bool = False


@dataclass(frozen=True)
class Measurement:
    """One run of a trainer.

    Attributes:
        cpu: CPU seconds, user and system, with those of child processes.
        wall: Seconds.
        peak_mib: The largest resident memory of one of its processes.
        losses: The logged losses, in the order of steps.
    """

    cpu: float
    wall: float
    peak_mib: float
    losses: list[float]


@dataclass(frozen=True)
class FinishedProcess:
    """A process that ended.

    Attributes:
        status: Its exit status.
        stdout: Its output.
        stderr: Its errors.
        usage: Its CPU time and peak memory, with those of its children.
    """

    status: int
    stdout: str
    stderr: str
    usage: resource.struct_rusage


def main() -> None:
    """Measures and writes both files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--open_clip", type=Path, help="a clone of open_clip, with src/")
    parser.add_argument("--data", type=Path, help="a CSV or Flickr8k's folder; default: drawn")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    use_one_core()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trainers = Trainers(arguments.open_clip, folder)
        trainers.require_open_clip()
        rows = read_pairs(arguments.data) if arguments.data else draw_pairs(folder / "drawn", DRAWN)
        task = Task(folder / "captions.csv", arguments.steps, arguments.batch)
        write_captions(rows, arguments.steps * arguments.batch, task.captions)
        report: dict[str, Any] = {
            "about": trainers.describe()
            | {
                "data": arguments.data.name if arguments.data else "drawn",
                "steps": task.steps,
                "batch": task.batch,
                "optimizer": OPTIMIZER,
            },
            "pairs": [],
        }
        for i in range(arguments.pairs):
            order = TRAINERS if i % 2 == 0 else TRAINERS[::-1]
            measured = {trainer: trainers.train(trainer, task) for trainer in order}
            report["pairs"].append({trainer: asdict(measured[trainer]) for trainer in TRAINERS})
            print(format_pair(report["pairs"][-1]), flush=True)
        report["parts"] = {trainer: trainers.profile(trainer, task) for trainer in TRAINERS}
        report["check"] = trainers.compare_losses(folder, task.batch)
    write_report(report, arguments.out)
    print(arguments.out.with_suffix(".md").read_text())


def use_one_core() -> None:
    """Binds this process and its children to the last core that it may use."""
    if hasattr(os, "sched_setaffinity"):  # Linux
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


class Trainers:
    """Runs both trainers, each run in a new process.

    Args:
        open_clip: A clone of open_clip; None for the installed one.
        folder: Where runs are written.
    """

    def __init__(self, open_clip: Path | None, folder: Path) -> None:
        self.open_clip, self.folder = open_clip, folder
        self.runs = 0

    def require_open_clip(self) -> None:
        """Ends this process with one sentence if open_clip's trainer cannot be imported."""
        if self.open_clip and not (self.open_clip / "src" / "open_clip_train").is_dir():
            sys.exit(f"{self.open_clip} has no src/open_clip_train: give a clone of open_clip")
        finished = self._run("open_clip", "import open_clip_train.main", [])
        if finished.status:
            reason = finished.stderr.strip().splitlines()[-1]
            sys.exit(
                f"open_clip's trainer cannot be imported ({reason}): install its "
                "requirements-training.txt, or give a clone with --open_clip"
            )

    def describe(self) -> dict[str, Any]:
        """Returns the versions of what is measured, and the machine."""
        code = "import open_clip; print(open_clip.__version__)"
        processor = platform.processor() or platform.machine()
        if Path("/proc/cpuinfo").exists():
            found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
            processor = found[1] if found else processor
        return {
            "processor": processor,
            "python": platform.python_version(),
            "torch": version("torch"),
            "zoo": f"{version('clip-zoo')} ({commit_of(REPOSITORY)})",
            "open_clip": self._run("open_clip", code, []).stdout.strip()
            + (f" ({commit_of(self.open_clip)})" if self.open_clip else ""),
            "open_clip in zoo": version("open_clip_torch"),
        }

    def train(self, trainer: str, task: Task, profile: Path | None = None) -> Measurement:
        """Trains once.

        Args:
            trainer: `zoo` or `open_clip`.
            task: What to train on.
            profile: Where to write a profile; None measures undisturbed.

        Returns:
            What it used, and its losses.
        """
        self.runs += 1
        run = self.folder / f"run_{self.runs}"
        run.mkdir()
        arguments = (zoo_arguments if trainer == "zoo" else open_clip_arguments)(task, run)
        code = ZOO if trainer == "zoo" else OPEN_CLIP
        if profile:
            code = PROFILED.format(path=str(profile)) + code
        started = time.perf_counter()
        finished = self._run(trainer, code, arguments, run)
        wall = time.perf_counter() - started
        if finished.status:
            sys.exit(f"{trainer} failed:\n{finished.stderr[-4000:]}")
        return Measurement(
            cpu=round(finished.usage.ru_utime + finished.usage.ru_stime, 2),
            wall=round(wall, 2),
            peak_mib=round(finished.usage.ru_maxrss / KIB_PER_MIB, 1),
            losses=(read_zoo_losses if trainer == "zoo" else read_open_clip_losses)(run),
        )

    def profile(self, trainer: str, task: Task) -> dict[str, float]:
        """Returns CPU seconds by part, and MiB at the first step, of one more run."""
        file = self.folder / f"profile_{trainer}.json"
        self.train(trainer, task, file)
        parts: dict[str, float] = json.loads(file.read_text())
        return parts

    def compare_losses(self, folder: Path, batch: int) -> dict[str, list[float]]:
        """Returns both trainers' losses on one batch, with the same weights and whole images."""
        weights, captions = folder / "weights.pt", folder / "check.csv"
        finished = self._run("zoo", WEIGHTS, [str(weights)])
        if finished.status:
            sys.exit(f"the weights could not be made:\n{finished.stderr[-4000:]}")
        write_captions(draw_pairs(folder / "check", batch), batch, captions)
        task = Task(captions, CHECKED_STEPS, batch, CHECKED_STEPS, weights, whole_images=True)
        return {trainer: self.train(trainer, task).losses for trainer in TRAINERS}

    def _run(
        self, trainer: str, code: str, arguments: Sequence[str], run: Path | None = None
    ) -> FinishedProcess:
        """Runs Python code in a new process."""
        paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        if trainer == "zoo":
            paths.insert(0, str(REPOSITORY))
        elif self.open_clip:
            paths.insert(0, str(self.open_clip.resolve() / "src"))
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "ZOO_TABLES": str((run or self.folder) / "tables"),  # each run reads the captions
        }
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                [sys.executable, "-c", code, *arguments],
                cwd=run or self.folder,
                env=environment,
                stdout=output,
                stderr=errors,
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            errors.seek(0)
            return FinishedProcess(process.returncode, output.read(), errors.read(), usage)


def commit_of(repository: Path) -> str:
    """Returns the commit that a repository is at, and whether files were changed."""
    words = ["git", "-C", str(repository), "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


def zoo_arguments(task: Task, run: Path) -> list[str]:
    """Writes the config of `zoo fit`, and returns the arguments of `zoo`."""
    backbone = {
        "name": "zoo-tiny",
        "pretrained": str(task.weights) if task.weights else None,
        "activation": "gelu",
        "augmentation": None if task.whole_images else {"crop_scale": list(CROP_SCALE)},
    }
    data = {
        "train": {"class_path": "CsvTable", "init_args": {"file": str(task.captions)}},
        "image_roots": ["/"],
        "batch_size": task.batch,
        "workers": 0,
    }
    config = {
        "model": {
            "backbone": {"class_path": "Backbone", "init_args": backbone},
            "head": {"class_path": "Cosine"},
            "objective": {"class_path": "CLIP"},
            "optimizer": {**OPTIMIZER, "warmup_steps": task.steps // 10},
        },
        "data": {
            "class_path": "CaptionDataModule",
            "init_args": data | ({"decoder": "pil"} if task.whole_images else {}),
        },
        "trainer": {"max_epochs": task.epochs, "accelerator": "cpu", "precision": "32-true"},
    }
    file = run / "config.json"
    file.write_text(json.dumps(config))
    return ["fit", "--config", str(file), "--trainer.logger.save_dir", str(run / "runs")]


def open_clip_arguments(task: Task, run: Path) -> list[str]:
    """Returns the architecture's file and the arguments of open_clip's trainer."""
    beta1, beta2 = OPTIMIZER["betas"]
    flags = {
        "model": "zoo-tiny",
        "train-data": task.captions,
        "dataset-type": "csv",
        "csv-separator": ",",
        "batch-size": task.batch,
        "epochs": task.epochs,
        "save-frequency": task.epochs,
        "lr": OPTIMIZER["lr"],
        "wd": OPTIMIZER["weight_decay"],
        "beta1": beta1,
        "beta2": beta2,
        "eps": OPTIMIZER["eps"],
        "warmup": task.steps // 10,
        "precision": "fp32",
        "device": "cpu",
        "workers": 0,
        "logs": run,
        "name": "run",
        "log-every-n-steps": 1 if task.whole_images else 50,
    } | ({"pretrained": task.weights} if task.weights else {})
    crop = ["scale=(1.0,1.0)", "ratio=(1.0,1.0)"] if task.whole_images else [f"scale={CROP_SCALE}"]
    words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    return [str(ARCHITECTURE), *words, "--aug-cfg", *(part.replace(" ", "") for part in crop)]


def read_zoo_losses(run: Path) -> list[float]:
    """Returns the training losses in the metrics of `zoo fit`."""
    (file,) = run.glob("runs/*/metrics.csv")
    with file.open() as lines:
        return [float(row["train/loss"]) for row in csv.DictReader(lines) if row["train/loss"]]


def read_open_clip_losses(run: Path) -> list[float]:
    """Returns the training losses in the log of open_clip's trainer."""
    log = (run / "run" / "out.log").read_text()
    return [float(loss) for loss in re.findall(r"Train Epoch:.* Loss: ([\d.]+)", log)]


def read_pairs(data: Path) -> list[tuple[str, str]]:
    """Returns paths of images and their captions.

    Args:
        data: A CSV with the columns `filepath` and `title`, or a folder with Flickr8k's token file
            and images, whose training captions are taken.
    """
    if data.is_file():
        with data.open(newline="") as lines:
            return [
                (str((data.parent / row["filepath"]).resolve()), row["title"])
                for row in csv.DictReader(lines)
            ]
    names = set((data / "Flickr_8k.trainImages.txt").read_text().split())
    pairs = []
    for line in (data / "Flickr8k.token.txt").read_text().splitlines():
        place, _, text = line.partition("\t")
        if (name := place.partition("#")[0]) in names:
            pairs.append((str(data.resolve() / "images" / name), text))
    return pairs


def draw_pairs(folder: Path, n: int) -> list[tuple[str, str]]:
    """Draws square JPEGs, and returns their paths with random captions.

    Args:
        folder: The folder of the images, which is made.
        n: The number of images.
    """
    from PIL import Image

    generator = random.Random(0)
    folder.mkdir()
    pairs = []
    for i in range(n):
        path = folder / f"{i:05}.jpg"
        small = Image.frombytes("RGB", (8, 8), generator.randbytes(3 * 8 * 8))
        small.resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(path, quality=80)
        words = [generator.choice(some) for some in (SUBJECTS, VERBS, PLACES)]
        pairs.append((str(path), f"{' '.join(words)}, picture {i}"))
    return pairs


def write_captions(pairs: list[tuple[str, str]], rows: int, file: Path) -> None:
    """Writes a CSV of so many rows, in random order; pairs are repeated if there are fewer."""
    shuffled = random.Random(0).sample(pairs, len(pairs))
    with file.open("w", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(["filepath", "title"])
        writer.writerows(shuffled[i % len(shuffled)] for i in range(rows))


def start_profiler(path: str) -> None:
    """Samples this process until it ends, and then writes CPU seconds by part.

    A signal arrives each `INTERVAL` of CPU time. While a kernel runs, it waits for the kernel's
    end, so that a sample counts all CPU time since the previous one.

    Args:
        path: The JSON file to write.
    """
    seconds: defaultdict[str, float] = defaultdict(float, {IMPORTS: time.process_time()})
    memory: dict[str, float] = {}
    previous = time.process_time()
    parts: dict[CodeType, str | None] = {}

    def part_of(frame: FrameType | None) -> str:
        nonlocal memory
        part, importing = None, False
        while frame is not None:
            code = frame.f_code
            if code not in parts:
                parts[code] = listed_part(code.co_filename, code.co_name)
            found = parts[code]
            if found == LOOP_FRAME:
                memory = memory or {FIRST_STEP: resident_mib()}
                return part or "rest"
            part = part or found
            importing = importing or "importlib" in code.co_filename
            frame = frame.f_back
        if memory:
            return part if part == "checkpoint" else END
        return IMPORTS if importing else START

    def sample(_: int, frame: FrameType | None) -> None:
        nonlocal previous
        now = time.process_time()
        seconds[part_of(frame)] += now - previous
        previous = now

    def write() -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        seconds[END] += time.process_time() - previous
        Path(path).write_text(json.dumps({**seconds, **memory}))

    signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
    atexit.register(write)


def listed_part(file: str, function: str) -> str | None:
    """Returns the part that a frame belongs to by itself, None if it is not listed.

    Args:
        file: The path of its code.
        function: The name of its function.
    """
    for part, patterns in {LOOP_FRAME: LOOP, **PARTS}.items():
        for pattern in patterns:
            fragment, _, name = pattern.partition(":")
            if fragment in file and name in ("", function):
                return part
    return None


def resident_mib() -> float:
    """Returns the resident memory of this process in MiB, NaN where it is not known."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return math.nan
    return round(int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def format_pair(pair: dict[str, Any]) -> str:
    """Returns a line with the CPU seconds and memory of both trainers."""
    zoo, other = (pair[trainer] for trainer in TRAINERS)
    return (
        f"zoo {zoo['cpu']:.2f} s, {zoo['peak_mib']:,.0f} MiB; "
        f"open_clip {other['cpu']:.2f} s, {other['peak_mib']:,.0f} MiB; "
        f"ratio {zoo['cpu'] / other['cpu']:.3f}"
    )


def add_ratios(report: dict[str, Any]) -> None:
    """Adds the ratios of zoo to open_clip, of each pair and their median, in place."""
    for name in ("cpu", "peak_mib"):
        for pair in report["pairs"]:
            pair[f"{name}_ratio"] = round(pair["zoo"][name] / pair["open_clip"][name], 3)
        ratios = [pair[f"{name}_ratio"] for pair in report["pairs"]]
        report[f"median_{name}_ratio"] = round(median(ratios), 3)


def write_report(report: dict[str, Any], stem: Path) -> None:
    """Writes the report as JSON and Markdown.

    Args:
        report: What `main` measured, to which ratios are added.
        stem: The path of both files, without suffix.
    """
    add_ratios(report)
    stem.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")
    about, pairs, parts, check = (report[name] for name in ("about", "pairs", "parts", "check"))
    pair_rows = [
        [
            i,
            *(f"{pair[trainer]['cpu']:.2f}" for trainer in TRAINERS),
            f"{pair['cpu_ratio']:.3f}",
            *(f"{pair[trainer]['peak_mib']:,.0f}" for trainer in TRAINERS),
            f"{pair['peak_mib_ratio']:.3f}",
            *(
                f"{pair[trainer]['losses'][0]:.3f} to {pair[trainer]['losses'][-1]:.3f}"
                for trainer in TRAINERS
            ),
        ]
        for i, pair in enumerate(pairs, 1)
    ]
    medians = [
        f"{median(pair[trainer][name] for pair in pairs):,.{digits}f}"
        for name, digits in (("cpu", 2), ("peak_mib", 0))
        for trainer in TRAINERS
    ]
    pair_rows.append(
        [
            "median",
            *medians[:2],
            f"{report['median_cpu_ratio']:.3f}",
            *medians[2:],
            f"{report['median_peak_mib_ratio']:.3f}",
            "",
            "",
        ]
    )
    names = [IMPORTS, START, *PARTS, END]
    part_rows = [
        [name, *(f"{parts[trainer].get(name, 0.0):.2f}" for trainer in TRAINERS)] for name in names
    ]
    totals = [sum(parts[trainer].get(name, 0.0) for name in names) for trainer in TRAINERS]
    part_rows += [
        ["all", *(f"{total:.2f}" for total in totals)],
        [FIRST_STEP, *(f"{parts[trainer][FIRST_STEP]:,.0f}" for trainer in TRAINERS)],
    ]
    check_rows = [
        [step, f"{zoo:.4f}", f"{other:.4f}", f"{abs(zoo - other):.1e}"]
        for step, (zoo, other) in enumerate(zip(*map(check.get, TRAINERS), strict=True), 1)
    ]
    stem.with_suffix(".md").write_text(
        PAGE.format(
            steps=about["steps"],
            batch=about["batch"],
            about=format_table(["", ""], [[k, v] for k, v in about.items() if k != "optimizer"]),
            pairs=format_table(PAIR_HEADINGS, pair_rows),
            parts=format_table(["part", "zoo", "open_clip"], part_rows),
            check=format_table(["step", "zoo", "open_clip", "difference"], check_rows),
        )
    )


def format_table(headings: list[str], rows: list[list[Any]]) -> str:
    """Returns a Markdown table, with numbers at the right."""
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


if __name__ == "__main__":
    main()
