"""The parts of which programs are generated that are compared with what Google's SDK sends for them."""

HEAD = """\
import argparse
import contextlib
import copy
import dataclasses
import json
import os
import pathlib
import sys
from os import environ as surroundings

import helpers
from google.cloud import aiplatform
from google.cloud.aiplatform import hyperparameter_tuning as hpt

aiplatform.init(project="demo-proj", location="us-east1", staging_bucket="gs://stage-1")
size, count, out, flag = "small", 1, "gs://demo-out/a", None
args = ["--seed", "1"]
env = {"A": "1"}
kw = {"timeout": 600}
pool = {
    "machine_spec": {"machine_type": "e2-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "us-docker.pkg.dev/p1/a/b:1", "args": args},
}
pools = [pool]
spare = args
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default="3")
parser.add_argument("-q", "--quiet", action="store_true")
parser.add_argument("--zone")
parser.add_argument("--note", default="")
parser.add_argument("--tags", type=lambda text: text.split(","), default="t,u")
flags = parser.parse_args([])

@dataclasses.dataclass
class Config:
    size: str = "small"
    extra: list = dataclasses.field(default_factory=list)
    level = 1

    def words(self, *more, last="-l"):
        return [f"--config={self.size}", *self.extra, *more, last]

config = Config()
"""
KNOWN = (
    "size == 'big'",
    "count > 1",
    "'--seed' in args",
    "len(args) > 3",
    "flag is None",
    "not env",
    "kw.get('timeout') == 600",
)
KNOWN += (
    "size in ('small', 'big') and count < 4",
    "args[0] == '--seed' or count > 5",
    "True",
    "count % 2",
)
KNOWN += ("flags.zone is None", "not flags.note", "flags.note == 'x'", "flags.zone", "flags.zone and count > 1")
UNKNOWN = ("helpers.coin()", "os.path.exists(helpers.path())", "os.environ.get('NOT_SET_X')", "helpers.SIZE == size")
UNKNOWN += ("helpers.coin() and count > 0", "not helpers.coin()", "count > helpers.number()")
SIMPLE = (
    "size = 'big'",
    "count = 2",
    "count += 1",
    "out = 'gs://demo-out/' + size",
    "args.append('--fast')",
    "args += ['-n', str(count)]",
    "args = args + [f'--size={size}']",
    "args = list(args)",
    "spare.append('--spare')",
    "spare = args",
    "spare = copy.deepcopy(args)",
    "env['B'] = f'{count:03d}'",
    "env.update({'C': size, 'A': '2'})",
    "env = dict(env, D='4')",
    "del env['A']",
    "env.pop('B', None)",
    "kw['timeout'] = 60 * count",
    "kw.setdefault('enable_web_access', True)",
    "kw = {**kw, 'restart_job_on_worker_restart': True}",
    "pool['replica_count'] = count",
    "pool['machine_spec']['machine_type'] = 'n1-standard-8'",
    "flag = '-x' if count > 1 else None",
    "pool['machine_spec'] = {'machine_type': 'n1-standard-4', 'accelerator_type': 'NVIDIA_TESLA_T4', 'accelerator_count': count}",  # noqa: E501
    "pools = [copy.deepcopy(pool), {**pool, 'replica_count': 2}]",
    "pools[0]['replica_count'] = 1",
    "args.extend(x for x in ('a', 'b'))",
    "args = [a.upper() for a in args if a != '-n']",
    "args.insert(0, size[:3])",
    "size, count = 'odd', 3",
    "args[0] = '--first'",
    "pool['container_spec']['args'] = args",
    "out = os.path.join('gs://demo-out', size)",
    "args.append('%s-%d' % (size, count))",
    "args.append('{}:{n}'.format(size, n=count))",
    "count = max(1, min(count, 3))",
    "args = args[:3]",
    "args.append(str(flag or 'none'))",
    "count = int(os.environ.get('NOT_SET_X', '2'))",
    "os.environ['SET_X'] = size",
    "size = os.environ.get('SET_X', size)",
    "pool = dict(pool)",
    "pools = [pool]",
    "env = {k.lower(): v for k, v in env.items()}",
    "kw.update(timeout=count * 100)",
    "args = [*args, *(['-v'] if count > 1 else [])]",
    "env |= {'G': f'{count:>3}'}",
    'cfg = json.loads(\'{"lr": 0.1, "tags": ["a"]}\')\nargs += [f"--lr={cfg[\'lr\']}", *cfg[\'tags\']]',
    "args.append(str(pathlib.PurePosixPath('/gcs') / size / 'x'))",
    "if (n := len(args)) > 2:\n    args.append(f'{n:d}')",
    "surroundings['SET_X'] = 'other'",
    "config.size = size",
    "config.extra.append('-x')",
    "args += config.words('-m', last=size)",
    "config = Config(size='odd', extra=['-y'])",
    "env['H'] = config.size + str(Config.level)",
    "args += ['--epochs', str(flags.epochs + count)]",
    "args += [] if flags.quiet else ['-w']",
    "[args.append(x) for x in ('p', 'q')]",
    "args.append(json.dumps({'n': count, 's': size}))",
    "env = {**env, **dict(zip(['X', 'Y'], args))}",
    "aiplatform.init(project='demo-proj', location='us-central1', staging_bucket='gs://stage-2')",
    "spare = [*spare, f'{out!s}-{count}']",
    "pools[0] = {**pools[0], 'disk_spec': {'boot_disk_size_gb': 100 + count}}",
    "args = args + ['-t'] * count",
    "size = flags.zone or size",
    "args += ['--note', flags.note] if flags.note else []",
    "args += flags.tags",
    "made = {'a': Config(), 'b': Config(size='odd')}\nsize = made['a' if count > 1 else 'b'].size",
    "args += [word for each in (config, Config('odd')) for word in each.words()]",
    "def zone_of(options, *, config=None):\n    return options.zone or (config or Config('none')).size\nsize = zone_of(flags)",  # noqa: E501
    "def sized(config, options):\n    if options.zone is not None:\n        config.size = options.zone\n    return config\n"  # noqa: E501
    "size = sized(config, flags).size",
)
ODD = (
    "helpers.change(args)",
    "helpers.change(pool['machine_spec'])",
    "size = helpers.SIZE",
    "args.append(helpers.SIZE)",
    "count = helpers.number()",
    "env['E'] = str(helpers.number())",
    "args += helpers.more()",
    "kw.update(helpers.options())",
    "flag = helpers.coin() and '--flag'",
    "size = size if helpers.coin() else 'tiny'",
    "args.append('a' if helpers.coin() else 'b')",
    "args = sorted(args, key=len)",
    "[args.append(x) for x in helpers.more()]",
    "spare, count = helpers.pair()",
    "helpers.change(kw)",
    "out = f'gs://demo-out/{helpers.SIZE}'",
    "args.append(f'{helpers.number():>4}')",
    "env = helpers.mapping()",
    "args.sort()",
    "pools = [helpers.copied(pool)]",
    "env[helpers.SIZE] = 'x'",
    "globals()['size'] = 'huge'",
    "helpers.touch(config)",
    "helpers.change(config.extra)",
    "first, *rest = args\nargs = [*rest, first]",
    "args = [x for x in args if helpers.coin()]",
    "size = helpers.coin() and size or 'tiny'",
    "args += config.words(*helpers.more())",
    "config = helpers.coin() and config or Config('odd')\nconfig.size = 'set'",
    "from helpers import *\nargs.append(SIZE)",
    "args.append(json.dumps({'n': helpers.number()}))",
    "os.environ['SET_X'] = helpers.SIZE",
    "kw = dict(kw, **helpers.options())",
    "env[f'K{helpers.number()}'] = 'k'",
    "pools.append({**pool, **helpers.extra()})",
    "n = helpers.coin() and args.append('walrus')",
    "size = (got := helpers.SIZE) + got",
    "args.remove('--seed') if '--seed' in args else None",
    "made = {'a': Config(), 'b': config}\nhelpers.touch(made['b'])\nsize = config.size + made['a'].size",
    "some = {} if helpers.coin() else {'Z': 'q'}\nout = 'gs://demo-out/' + some.get('Z', 'a')",
    "some = {}\nother = some if helpers.coin() else helpers.mapping()\nsome['Z'] = 'z'\n"
    "out = 'gs://demo-out/' + other.get('Z', 'a')",
    "made = [config, Config()][helpers.coin()]\nmade.size = 'one'\nsize = config.size",
    "pool['machine_spec']['accelerator_type'] = aiplatform.gapic.AcceleratorType.NVIDIA_TESLA_T4.name",
)
BLOCKS = (
    "if {test}:\n{a}",
    "if {test}:\n{a}\nelse:\n{b}",
    "if {test}:\n{a}\nelif count == 2:\n{b}\nelse:\n{c}",
    "for item in ['x', 'y']:\n    args.append(item)\n{a}",
    "for item in helpers.more():\n{a}\n    args.append(item)",
    "for item in ('p', 'q'):\n    if {test}:\n        break\n{a}",
    "for item in ('p', 'q'):\n    if {test}:\n        continue\n{a}",
    "try:\n{a}\nexcept OSError:\n{b}",
    "try:\n    helpers.fail({test})\n{a}\nexcept ValueError:\n{b}",
    "while helpers.twice():\n{a}",
    "match size:\n    case 'big' | 'odd':\n{aa}\n    case 'small' if {test}:\n{bb}\n    case _:\n{cc}",
    "def step():\n    global size, count, args, env, kw, pool, pools, out, flag, spare\n{a}\nstep()\n{b}",
    "def make(args, n=count):\n    global size\n    if {test}:\n        return n\n    size = 'made'\n    args.append('made')\n    return 3\ncount = make(args)",  # noqa: E501
    "def outer():\n    global count, size, args, env, kw, pool, pools, out, flag, spare\n    if {test}:\n        return\n{a}\nouter()",  # noqa: E501
    "class Holder:\n    size = 'held'\n    def __init__(self, n):\n        self.n = n\n    def give(self):\n        return self.n + 1\nholder = Holder(count)\n"  # noqa: E501
    "count = min(holder.give(), 4)\nsize = holder.size",
    "with open(os.devnull) as file:\n{a}",
    "run = lambda n: n * 2\ncount = run(count) % 5 + 1",
    "def build(*words, sep='-', **more):\n    def inner(n=1):\n        nonlocal sep\n        sep = sep * n\n        return sep\n"  # noqa: E501
    "    joined = inner(2).join(words)\n    return [joined, *(f'{{k}}={{v}}' for k, v in more.items())]\nargs += build(size, 'z', n=count)",  # noqa: E501
    "n = 0\nwhile n < 2:\n    n += 1\n{a}",
    "n = 0\nwhile True:\n    n += 1\n    if n > 2 or {test}:\n        break\n{a}",
    "with contextlib.suppress(ValueError):\n    helpers.fail({test})\n{a}",
    "if flags.zone and {test}:\n    parser.error('two')\n{a}",
    "if {test}:\n    if flags.zone is None and count > 90:\n        sys.exit(1)\n{a}",
    "for i, item in enumerate(args[:2]):\n    env[f'K{{i}}'] = item\n{a}",
    "try:\n    import missing_module_x\n{a}\nexcept ImportError:\n{b}\nelse:\n{c}\nfinally:\n    args.append('end')",
    "def early(n):\n    if n > 2:\n        return 'many'\n    if {test}:\n        return 'some'\n    return 'few'\nsize = early(count)",  # noqa: E501
    "alias = pool if {test} else copy.deepcopy(pool)\nalias['replica_count'] = 2\n{a}",
    "alias = args if {test} else spare\n{a}\nargs = [*alias]",
    "alias = [args, spare][count > 1]\n{a}\nargs = list(alias)",
    "for item in helpers.more():\n    out = 'gs://demo-out/' + env.get('Z', 'a')\n    env['Z'] = 'z'\n{a}",
    "class Base:\n    size = 'base'\n    def __init__(self, n=1):\n        self.n = n\nclass Derived(Base):\n    def __init__(self):\n"  # noqa: E501
    "        super().__init__(2)\n        self.size = 'derived'\nmade = Derived()\nsize, count = made.size, made.n",
    "def wrap(f):\n    def inner(*a, **k):\n        args.append('wrapped')\n        return f(*a, **k) + 1\n    return inner\n"  # noqa: E501
    "@wrap\ndef one(n, *, by=1):\n    return n + by\ncount = one(count, by=1) % 4 + 1",
    "def outer2():\n    global args, size\n    for item in ('x', 'y'):\n        if {test}:\n            return item\n{aa}\n    return 'none'\nsize = outer2()",  # noqa: E501
)
ENDS = (
    "job = aiplatform.CustomJob(display_name=size, worker_pool_specs=pools, base_output_dir=out, labels={{'n': str(count)}})\n{late}job.run(**kw)",  # noqa: E501
    "job = aiplatform.CustomJob('j-' + size, pools, out)\n{late}job.run('me@p.iam.gserviceaccount.com', None, kw['timeout'])",  # noqa: E501
    "def run(job, **more):\n    job.run(**more)\njob = aiplatform.CustomJob('x', pools, base_output_dir=out)\n{late}run(job, **kw)",  # noqa: E501
    "job = aiplatform.CustomContainerTrainingJob(display_name=size, container_uri='us-docker.pkg.dev/p1/a/b:1', command=['python'])\n{late}"  # noqa: E501
    "job.run(args=args, environment_variables=env, replica_count=count, machine_type=pool['machine_spec']['machine_type'], base_output_dir=out, timeout=kw['timeout'])",  # noqa: E501
    "job = aiplatform.CustomPythonPackageTrainingJob(size, 'gs://demo-out/p.tar.gz', 'trainer.task', 'us-docker.pkg.dev/p1/a/b:1')\n{late}"  # noqa: E501
    "job.submit(args=args, environment_variables=env, replica_count=count, machine_type='e2-standard-4', timeout=kw['timeout'])",  # noqa: E501
    "def start(pools, *, name, **more):\n    job = aiplatform.CustomJob(display_name=name, worker_pool_specs=pools, base_output_dir=out)\n"  # noqa: E501
    "    job.submit(**more)\n{late}start(pools, name='-'.join(args), **{{**kw, 'restart_job_on_worker_restart': count > 1}})",  # noqa: E501
    "job = aiplatform.HyperparameterTuningJob('t', aiplatform.CustomJob('x', pools, base_output_dir=out), {{'loss': 'minimize'}},\n"  # noqa: E501
    "    {{'lr': hpt.DoubleParameterSpec(1e-4, 1e-1, 'log')}}, count + 3, count)\n{late}job.run(timeout=kw['timeout'])",
)
