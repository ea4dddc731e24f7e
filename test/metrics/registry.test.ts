import assert from 'node:assert/strict'
import { test } from 'node:test'
import { metricNamespace } from '../../src/metrics/counters.ts'
import { createRegistry, exposition } from '../../src/metrics/registry.ts'

test('counters, gauges, summaries and histograms are written in the text format', () => {
  const registry = createRegistry()
  const requests = registry.counter('requests_total', 'Requests.', ['route', 'status'])
  requests('/users/{user_id}', '2xx').value += 2
  requests('a "quoted" \\ name\n', '4xx').value++
  registry.gauge('depth', 'Depth.', () => 1.5)
  registry.gauge('unknown', 'Not known now.', () => undefined)
  const sizes = registry.summary('size_bytes', 'Sizes.', ['route'])('x')
  sizes.observe(10)
  sizes.observe(5)
  const duration = registry.histogram('duration_seconds', 'Durations.', [0.1, 1])
  for (const seconds of [0.05, 0.1, 0.5, 3]) duration.observe(seconds)
  assert.equal(
    exposition([registry.snapshot()]),
    [
      '# HELP requests_total Requests.',
      '# TYPE requests_total counter',
      'requests_total{route="/users/{user_id}",status="2xx"} 2',
      'requests_total{route="a \\"quoted\\" \\\\ name\\n",status="4xx"} 1',
      '# HELP depth Depth.',
      '# TYPE depth gauge',
      'depth 1.5',
      '# HELP unknown Not known now.',
      '# TYPE unknown gauge',
      '# HELP size_bytes Sizes.',
      '# TYPE size_bytes summary',
      'size_bytes_sum{route="x"} 15',
      'size_bytes_count{route="x"} 2',
      '# HELP duration_seconds Durations.',
      '# TYPE duration_seconds histogram',
      'duration_seconds_bucket{le="0.1"} 2',
      'duration_seconds_bucket{le="1"} 3',
      'duration_seconds_bucket{le="+Inf"} 4',
      'duration_seconds_sum 3.65',
      'duration_seconds_count 4',
      '',
    ].join('\n'),
  )
})

test('the metrics of several processes are aggregated by sum, maximum or minimum', () => {
  const processes = [1, 2].map((number) => {
    const registry = createRegistry()
    registry.counter('requests_total', 'Requests.', ['route'])('x').value += number
    if (number === 2) registry.counter('others_total', 'Others.', ['route'])('y').value++
    registry.gauge('inprogress', 'In flight.', () => number)
    registry.gauge('depth', 'The same for all.', () => number, 'max')
    registry.gauge('started', 'The first.', () => number, 'min')
    registry.histogram('seconds', 'Durations.', [1]).observe(number)
    return registry.snapshot()
  })
  const text = exposition(processes)
  for (const line of [
    'requests_total{route="x"} 3',
    'others_total{route="y"} 1',
    'inprogress 3',
    'depth 2',
    'started 1',
    'seconds_bucket{le="1"} 1',
    'seconds_bucket{le="+Inf"} 2',
    'seconds_sum 3',
    'seconds_count 2',
  ]) {
    assert.equal(text.split(`${line}\n`).length, 2, line)
  }
  assert.equal(text.match(/# TYPE/g)?.length, 6)
})

test('two metrics cannot have the same name', () => {
  const registry = createRegistry()
  registry.gauge('depth', 'Depth.', () => 0)
  assert.throws(() => registry.gauge('depth', 'Depth.', () => 0), /duplicate metric depth/)
})

test('the namespace is the title in lower case, and every other character is replaced by an underscore', () => {
  const cases: Record<string, string> = {
    Latchkey: 'latchkey',
    'My API 2.0': 'my_api_2_0',
    '3D-Shop': '_3d_shop',
    'Ärger & Co': '_rger___co',
    '🔑': '__',
    a_b: 'a_b',
    '9': '_9',
  }
  for (const [title, namespace] of Object.entries(cases)) {
    assert.equal(metricNamespace(title), namespace)
    assert.match(`${namespace}_x`, /^[a-z_][a-z0-9_]*$/)
  }
})
