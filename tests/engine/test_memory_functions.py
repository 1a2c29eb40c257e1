"""SGLang's own memory functions, run from the wheels, against ours: equal, over a grid of inputs."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sm120kit.capacity.defaults import resolve_defaults
from sm120kit.capacity.formulas import choose_formula, formulas
from sm120kit.capacity.geometry import Geometry
from sm120kit.capacity.memory import bytes_per_state
from sm120kit.capacity.predict import Server, predict
from sm120kit.capacity.settings import Settings
from tests.engine.venvs import VERSIONS, interpreter
from tests.models import QWEN3_NEXT_80B
from tests.planning import GIB, QWEN36_27B, geometry

pytestmark = pytest.mark.engine

CHILD = Path(__file__).with_name("memory_child.py")
VISION = (27, 1152)


@cache
def _ask(version: str, questions: str) -> list[Any]:
    """Answers of the wheel's own functions; one process for all."""
    command = [str(interpreter(version)), str(CHILD)]
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home}
        done = subprocess.run(
            command, input=questions, capture_output=True, text=True, check=False, env=environment, cwd=home
        )
    assert done.returncode == 0, done.stderr[-4000:]
    answers: list[Any] = json.loads(done.stdout)
    return answers


def _strategies(version: str) -> list[tuple[str, bool, bool]]:
    """Strategy, prefix cache, overlap: those that this version takes together."""
    both = [("no_buffer", True, False), ("extra_buffer", True, True), ("extra_buffer", True, False)]
    lazy = [("extra_buffer_lazy", True, True)] if version == "0.5.23" else []
    return [*both, *lazy, ("no_buffer", False, True)]


def _pool_questions(version: str) -> list[dict[str, Any]]:
    """Servers as numbers: dense, latent, sliding and hybrid models, short and long of memory."""
    base = {"what": "pools", "fraction": 0.85, "tp": 1, "requested": 64, "slots": None, "radix": True, "share": 0.9,
            "overlap": True, "strategy": "no_buffer", "draft_tokens": 0, "draft_layers": 0, "most_tokens": None,
            "page": 1, "sliding_share": 0.8, "chunk": 8192, "layers": 16, "sliding_layers": 0, "window": 0,
            "kv_heads": 4, "head_dim": 256, "v_head_dim": 256, "latent": 0, "state": 0, "context": 262144,
            "multimodal": False, "kv_dtype": "bfloat16"}  # fmt: skip
    return [{**base, **each} for each in (*_plain(), *_sliding(version), *_hybrid(version))]


def _memory() -> list[dict[str, float]]:
    pairs = [(94.16, 43.21), (177.5, 126.5), (31.37, 9.913), (79.11, 0.5), (141.7, 141.2)]
    return [{"before": before, "after": after} for before, after in pairs]


def _plain() -> Iterator[dict[str, Any]]:
    kinds: list[dict[str, Any]] = [
        {},
        {"latent": 576, "layers": 61},
        {"kv_heads": 8, "tp": 2},
        {"kv_heads": 1, "tp": 4},
    ]
    for memory, kind, requested, page in itertools.product(_memory(), kinds, (None, 1, 4096), (1, 64)):
        yield {**memory, **kind, "requested": requested, "page": page}
    for memory, most, fraction in itertools.product(_memory(), (100, 100_000), (0.5, 0.8123, 0.957)):
        yield {
            **memory,
            "most_tokens": most,
            "fraction": fraction,
            "page": 16,
            "context": 4096,
            "kv_dtype": "float8_e4m3fn",
        }


def _sliding(version: str) -> Iterator[dict[str, Any]]:
    kind = {"layers": 12, "sliding_layers": 12, "window": 128, "kv_heads": 8, "head_dim": 64, "v_head_dim": 64}
    for memory, share, requested, page in itertools.product(_memory(), (0.8, 0.33, 1.0), (None, 64), (1, 64)):
        yield {**memory, **kind, "sliding_share": share, "requested": requested, "page": page}
    for memory, overlap in itertools.product(_memory(), (True, False)):
        yield {**memory, **kind, "radix": False, "overlap": overlap, "requested": 33, "page": 16}
        yield {**memory, **kind, "most_tokens": 50_000, "page": 16, "requested": None}
    assert version in VERSIONS


def _hybrid(version: str) -> Iterator[dict[str, Any]]:
    states = (153_944_064, 78_446_592)
    for memory, state, (strategy, radix, overlap) in itertools.product(_memory(), states, _strategies(version)):
        how = {"state": state, "strategy": strategy, "radix": radix, "overlap": overlap}
        for requested, draft in itertools.product((1, 16, 46, 47, 48, 64, 128), (0, 2, 4)):
            yield {**memory, **how, "requested": requested, "draft_tokens": draft, "fraction": 0.84, "draft_layers": 1}
        yield {**memory, **how, "requested": None}
        for share, slots in itertools.product((0.2, 0.9, 3.7), (None, 100)):
            yield {**memory, **how, "share": share, "slots": slots, "multimodal": True}
            yield {**memory, **how, "share": share, "slots": slots, "draft_tokens": 4, "requested": 30}


def _server(version: str, asked: dict[str, Any]) -> Server:
    """The same server for our own functions."""
    shape = geometry(QWEN36_27B).state
    assert shape is not None
    whole = 153_944_064
    model = Geometry(
        architecture="Any",
        layout="mla" if asked["latent"] else "sliding" if asked["sliding_layers"] else "gqa",
        layers=asked["layers"],
        kv_heads=asked["kv_heads"],
        head_dim=asked["head_dim"],
        v_head_dim=asked["v_head_dim"],
        latent_dim=asked["latent"],
        sliding_layers=asked["sliding_layers"],
        window=asked["window"],
        state=shape if asked["state"] else None,
        multimodal=asked["multimodal"],
    )
    settings = Settings(
        requested=asked["requested"],
        fraction=asked["fraction"],
        chunk=asked["chunk"],
        most_tokens=asked["most_tokens"],
        context=asked["context"],
        page_size=asked["page"],
        kv_dtype="fp8_e4m3" if asked["kv_dtype"] == "float8_e4m3fn" else "bfloat16",
        state_dtype="float32" if asked["state"] == whole else "bfloat16",
        strategy=asked["strategy"],
        radix=asked["radix"],
        overlap=asked["overlap"],
        state_share=asked["share"],
        slots=asked["slots"],
        algorithm="EAGLE" if asked["draft_tokens"] else "",
        draft_tokens=asked["draft_tokens"],
        sliding_share=asked["sliding_share"],
        tp=asked["tp"],
    )
    before, after = asked["before"] * GIB, asked["after"] * GIB
    return Server(
        formula=choose_formula(version).formula,
        geometry=model,
        settings=settings,
        free=before,
        weights=before - after,
        draft_layers=asked["draft_layers"],
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_pools(version: str) -> None:
    questions = _pool_questions(version)
    answers = _ask(version, json.dumps(questions))
    different = []
    for asked, genuine in zip(questions, answers, strict=True):
        pools = predict(_server(version, asked)).pools
        ours = None
        if not pools.failure:
            ours = {
                "granted": pools.granted,
                "tokens": pools.tokens,
                "slots": pools.slots,
                "sliding": pools.sliding_tokens,
            }
        if ours != genuine:
            different.append((asked, genuine, ours))
    assert not different, f"{len(different)} of {len(questions)}: {different[:3]}"
    started = sum(answer is not None for answer in answers)
    assert started > len(answers) // 2
    assert len(questions) > 1000


@pytest.mark.parametrize("version", VERSIONS)
def test_states(version: str) -> None:
    questions, ours = [], []
    names = ("num_hidden_layers", "full_attention_interval", "hidden_size", "num_attention_heads",
             "num_key_value_heads", "head_dim", "linear_num_value_heads", "linear_num_key_heads",
             "linear_key_head_dim", "linear_value_head_dim", "linear_conv_kernel_dim", "mamba_ssm_dtype")  # fmt: skip
    models = (("qwen3_5", QWEN36_27B, QWEN36_27B["text_config"]), ("qwen3_next", QWEN3_NEXT_80B, QWEN3_NEXT_80B))
    for (model, config, text), dtype, tp in itertools.product(models, ("", "bfloat16", "float16"), (1, 2, 4, 8)):
        kept = {name: text[name] for name in names if name in text}
        questions.append({"what": "state", "model": model, "config": kept, "dtype": dtype, "tp": tp})
        shape = geometry(config).state
        assert shape is not None
        ours.append(bytes_per_state(shape, dtype, tp))
    assert ours == _ask(version, json.dumps(questions))


@pytest.mark.parametrize("version", VERSIONS)
def test_defaults(version: str) -> None:
    base = {"what": "defaults", "chunk": None, "graph": None, "requested": None, "tp": 1, "latent": False,
            "algorithm": None, "vision": None, "no_prefill_graph": False, "no_graphs": False}  # fmt: skip
    sizes = (16303, 20479, 20480, 24564, 32607, 35839, 35840, 46068, 61439, 61440, 81559, 97887, 143771, 163839, 163840,
             183359, 275040)  # fmt: skip
    kinds: list[dict[str, Any]] = [
        {}, {"tp": 4}, {"tp": 8, "latent": True}, {"chunk": 2048}, {"chunk": -1, "graph": 64}, {"graph": 160},
        {"algorithm": "EAGLE"}, {"algorithm": "STANDALONE"}, {"algorithm": "NGRAM"},
        {"vision": VISION, "no_prefill_graph": True}, {"no_prefill_graph": True}, {"requested": 37},
        {"no_graphs": True, "no_prefill_graph": True},
    ]  # fmt: skip
    questions = [{**base, **kind, "mib": mib} for mib, kind in itertools.product(sizes, kinds)]
    formula, ours = choose_formula(version).formula, []
    for asked in questions:
        model = replace(geometry(QWEN36_27B), architecture="Any", multimodal=asked["vision"] is not None, state=None)
        model = replace(model, layout="mla" if asked["latent"] else "gqa")
        settings = Settings(
            requested=asked["requested"],
            chunk=asked["chunk"],
            decode_graph=asked["graph"],
            no_decode_graph=asked["no_graphs"],
            no_prefill_graph=asked["no_prefill_graph"],
            algorithm=asked["algorithm"] or "",
            tp=asked["tp"],
        )
        found = resolve_defaults(formula, settings, model, asked["mib"])
        ours.append(
            {
                "fraction": found.fraction,
                "chunk": found.chunk,
                "graph": found.decode_graph,
                "prefill_graphs": found.prefill_graphs,
            }
        )
    genuine = _ask(version, json.dumps(questions))
    different = [each for each in zip(questions, genuine, ours, strict=True) if each[1] != each[2]]
    assert not different, f"{len(different)} of {len(questions)}: {different[:3]}"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_table_names_the_right_lines(version: str) -> None:
    """Where the table says that a function stands, it stands."""
    site_packages = next((interpreter(version).parent.parent / "lib").glob("python*")) / "site-packages"
    row = next(row for row in formulas() if row.version == version)
    for place in row.functions:
        where, function = place.split(" ")
        file, line = where.split(":")
        text = (site_packages / "sglang" / "srt" / file).read_text().split("\n")[int(line) - 1]
        assert f"def {function}(" in text, place
