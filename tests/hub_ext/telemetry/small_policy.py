"""The smallest policy with a whole GPU, a cut one, and one on another node."""

TEXT = """\
version: 1
currency: EUR
pools:
  whole:
    model: h200-141gb
    nodes: [{name: localhost, gpus: 1}, {name: node-2, gpus: 1}]
  cut:
    model: a100-40gb
    nodes: [{name: localhost, gpus: 1, geometry: [[3g.20gb, 3g.20gb]]}]
teams:
  research: {groups: [research], quota: {whole: {nominal: "2"}, cut: {nominal: "1"}}}
profiles:
  gpu:
    title: One GPU
    pool: whole
    flavor: {gpus: 1}
    cpu: "2"
    memory: 4GiB
    lifetime: {default: 1h, longest: 2h}
"""
