import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { env } from 'node:process'
import { parseAllDocuments } from 'yaml'

const root = join(import.meta.dirname, '../..')
/** Where `script/lib/helm.sh` puts Helm. */
const program = join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'berth/helm-4.2.3')

export const chart = join(root, 'deploy/kubernetes/chart')
/** Why no chart can be rendered; undefined if one can. */
export const noHelm: string | undefined = existsSync(program) ? undefined : 'Helm is not here: script/test fetches it'

export interface ManifestObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

/** Values that have to be given. */
export const leastValues = { url: 'https://berth.example.com', blobs: { bucket: 'berth-blobs', region: 'r1' } }

/**
 * Returns what Helm prints.
 * @param values come after those of the chart
 * @throws Error with Helm's words
 */
export function helm(args: readonly string[], values: object = {}): string {
  try {
    return execFileSync(program, [...args, '--values', '-'], {
      encoding: 'utf8',
      input: JSON.stringify(values),
      // Helm looks for plugins and repositories below the home directory.
      env: { HOME: '/nonexistent' },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  } catch (error) {
    throw new Error(String((error as { stderr?: unknown }).stderr), { cause: error })
  }
}

/** Packs the chart into a folder, and returns the file's name. @throws Error with Helm's words */
export function packageChart(folder: string): string {
  const printed = execFileSync(program, ['package', chart, '--destination', folder], {
    encoding: 'utf8',
    env: { HOME: '/nonexistent' },
  })
  return basename(printed.trim())
}

/** Returns the objects of a release of the chart. @throws Error with Helm's words */
export function renderChart(values: object, release = 'berth', namespace = 'berth'): readonly ManifestObject[] {
  const text = helm(['template', release, chart, '--namespace', namespace], values)
  return parseAllDocuments(text)
    .map(document => document.toJS() as ManifestObject | null)
    .filter(object => object !== null)
}
