"""What dbt finds in the package besides the adapter."""

from pathlib import Path

import yaml

from dbt.adapters.hiveacid import HiveAcidCredentials, Plugin
from dbt.adapters.hiveacid.credentials import profile_keys
from dbt.include.hiveacid import PACKAGE_PATH


def test_the_plugin_builds_on_dbt_spark():
    assert Plugin.adapter.type() == "hiveacid"
    assert Plugin.dependencies == ["spark"]
    assert Plugin.project_name == "dbt_hiveacid"


def test_dbt_init_asks_for_a_valid_profile():
    template = yaml.safe_load((Path(PACKAGE_PATH) / "profile_template.yml").read_text())
    keys = {key.name for key in profile_keys()}
    assert {*template["fixed"], *template["prompts"]} <= keys
    answers = {name: "4" if name == "threads" else "answer" for name in template["prompts"]}
    target = {**template["fixed"], **answers}
    assert target.pop("type") == "hiveacid"
    target.pop("threads")
    HiveAcidCredentials.validate(target)
