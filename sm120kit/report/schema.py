"""JSON Schemas of everything that the commands print as data, made from the types themselves."""

from __future__ import annotations

from typing import Any

import msgspec

from sm120kit.capacity.types import SCHEMA as CAPACITY_PLAN_SCHEMA
from sm120kit.capacity.types import Plan as CapacityPlan
from sm120kit.diagnosis.logs.types import SCHEMA as WHY_SCHEMA
from sm120kit.diagnosis.logs.types import Why
from sm120kit.diagnosis.types import (
    CHECKS_SCHEMA,
    COMPARISON_SCHEMA,
    PROOF_SCHEMA,
    CheckList,
    Comparison,
    ProofReport,
    Report,
)
from sm120kit.diagnosis.types import SCHEMA as REPORT_SCHEMA
from sm120kit.environment.types import SCHEMA as ENVIRONMENT_SCHEMA
from sm120kit.environment.types import Document as EnvironmentDocument
from sm120kit.fleet.types import SCHEMA as FLEET_SCHEMA
from sm120kit.fleet.types import Fleet
from sm120kit.repair.types import (
    FIX_SCHEMA,
    HISTORY_SCHEMA,
    PLAN_SCHEMA,
    TOOLKITS_SCHEMA,
    FixReport,
    History,
    Plan,
    Toolkits,
)
from sm120kit.smoke.types import SCHEMA as SMOKE_SCHEMA
from sm120kit.smoke.types import SmokeReport
from sm120kit.snapshot.types.snapshot import SCHEMA as SNAPSHOT_SCHEMA
from sm120kit.snapshot.types.snapshot import Snapshot

DOCUMENTS: dict[str, tuple[str, type[msgspec.Struct]]] = {
    "report": (REPORT_SCHEMA, Report),
    "snapshot": (SNAPSHOT_SCHEMA, Snapshot),
    "comparison": (COMPARISON_SCHEMA, Comparison),
    "why": (WHY_SCHEMA, Why),
    "plan": (CAPACITY_PLAN_SCHEMA, CapacityPlan),
    "proof": (PROOF_SCHEMA, ProofReport),
    "repair-plan": (PLAN_SCHEMA, Plan),
    "fix": (FIX_SCHEMA, FixReport),
    "history": (HISTORY_SCHEMA, History),
    "smoke": (SMOKE_SCHEMA, SmokeReport),
    "toolkits": (TOOLKITS_SCHEMA, Toolkits),
    "fleet": (FLEET_SCHEMA, Fleet),
    "environment": (ENVIRONMENT_SCHEMA, EnvironmentDocument),
    "checks": (CHECKS_SCHEMA, CheckList),
}
"""Name of each document, the value of its ``schema`` field, and its type."""


def json_schema(document: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one of :data:`DOCUMENTS`."""
    name, kind = DOCUMENTS[document]
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name, **msgspec.json.schema(kind)}
    schema["$defs"][kind.__name__]["properties"]["schema"] = {"const": name}
    return schema
