import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../packages/platform/src/settings/settings.ts'

const directory = join(import.meta.dirname, '..', 'deploy')
const files = globSync('**/*.env', { cwd: directory }).sort()
const variablesOf = (file: string) => parseEnv(readFileSync(join(directory, file), 'utf8'))

describe('the environment of a process to deploy', () => {
  test.each(files)('%s holds settings that a start takes', file => {
    expect(() => loadSettings(variablesOf(file), () => undefined)).not.toThrow()
  })

  test('is one of the sizes of docs/scale.md', () => {
    const page = readFileSync(join(directory, '..', 'docs', 'scale.md'), 'utf8')
    expect([...new Set(files.map(file => file.split('/')[0]))].sort()).toEqual(['10', '100', '1000'])
    for (const size of ['10/berth.env', '100/', '1000/']) expect(page).toContain(`\`deploy/${size}\``)
  })

  test.each(['100', '1000'])('shares database, blobs and key among the processes for %s Runs', size => {
    const shared = files.filter(file => file.startsWith(`${size}/`) && !file.endsWith('host.env')).map(variablesOf)
    for (const name of ['DATABASE_URL', 'BERTH_BLOBS', 'BERTH_MASTER_KEY', 'BERTH_AUTH_URL', 'NODE_ENV'])
      expect(new Set(shared.map(variables => variables[name])).size, name).toBe(1)
  })
})

describe('the dashboard and the alerts', () => {
  const sources = globSync('packages/*/src/**/*.ts', { cwd: join(directory, '..') })
  const text = sources.map(file => readFileSync(join(directory, '..', file), 'utf8')).join('\n')
  const made = new Set([...text.matchAll(/name: '(berth_\w+)'/g)].map(([, name]) => name))

  test.each(['alerts.yaml', 'grafana-dashboard.json'])('%s asks for metrics that the service has', file => {
    const metrics = readFileSync(join(directory, 'monitoring', file), 'utf8').matchAll(/\bberth_\w+/g)
    const names = [...metrics].map(([name]) => name.replace(/_(?:bucket|count|sum)$/, ''))
    expect(names.length).toBeGreaterThan(5)
    expect(names.filter(name => !made.has(name))).toEqual([])
  })
})
