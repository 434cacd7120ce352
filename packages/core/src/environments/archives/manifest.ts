import type { EnvironmentArchive, Issue } from '@berth/contract'
import { isObject } from '@berth/platform/kit/json.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import semver from 'semver'
import { MANIFEST } from './read-archive.ts'

/** What an extension says of itself. */
export type ExtensionIdentity = EnvironmentArchive['extension']

/** The interface that this platform offers to extensions. */
const PLUGIN_API = '1.0.0'
const NAME_CHARACTERS = 100
const idPattern = /^[a-z0-9]([a-z0-9.-]{0,62}[a-z0-9])?$/

/** The parts of a manifest that Berth uses. */
export interface Manifest {
  readonly identity: ExtensionIdentity
  /** False if its `compat.pluginApi` excludes this platform. */
  readonly compatible: boolean
  readonly contributes: Contributions
}

/** Where an extension keeps what it brings. An absent member means the usual places. */
export interface Contributions {
  readonly skills?: readonly string[]
  readonly commands?: readonly string[]
  readonly mcpServers?: string | Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/**
 * Returns the manifest of an extension that this platform can run.
 * @throws ApiError 400 `environment_invalid` with every fault
 */
export function readManifest(bytes: Buffer): Manifest {
  const { manifest, issues } = judgeManifest(bytes)
  if (issues.length > 0) throw refused(issues)
  return manifest
}

/**
 * Returns a manifest that may ask for another platform.
 * @throws ApiError 400 `environment_invalid` with every other fault
 */
export function parseManifest(bytes: Buffer): Manifest {
  const { manifest, issues } = judgeManifest(bytes)
  const faults = issues.filter(({ message }) => message !== excluded)
  if (faults.length > 0) throw refused(faults)
  return manifest
}

function judgeManifest(bytes: Buffer): { readonly manifest: Manifest; readonly issues: readonly Issue[] } {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw refused([issue([], 'is not JSON in UTF-8')])
  }
  if (!isObject(value)) throw refused([issue([], 'must be an object')])
  const { id, name, version } = value
  const issues = [...identityFaults(value), ...compatibilityFaults(value), ...contributionFaults(value['contributes'])]
  const identity = { id: String(id), name: String(name), version: String(version) }
  const compatible = !issues.some(({ message }) => message === excluded)
  // The judges have checked its members.
  const contributes = (value['contributes'] ?? {}) as Contributions
  return { manifest: { identity, compatible, contributes }, issues }
}

const excluded = `excludes ${PLUGIN_API}, which this platform offers`

const refused = (issues: readonly Issue[]) => refusal('environment_invalid', { issues })

const issue = (path: readonly (string | number)[], message: string): Issue => ({ path: [MANIFEST, ...path], message })

function identityFaults(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { id, name, version } = value
  const isId = typeof id === 'string' && idPattern.test(id) && !/--|\.\./.test(id)
  const isName =
    typeof name === 'string' &&
    name.trim() !== '' &&
    [...name].length <= NAME_CHARACTERS &&
    name.isWellFormed() &&
    !/\p{Cc}/u.test(name)
  const isVersion =
    typeof version === 'string' && /^\d/.test(version) && !/\s/.test(version) && semver.valid(version) !== null
  return [
    ...(isId ? [] : [issue(['id'], `must match ${idPattern.source}, without \`--\` and \`..\``)]),
    ...(isName ? [] : [issue(['name'], `must have 1 to ${NAME_CHARACTERS} characters, and no control character`)]),
    ...(isVersion ? [] : [issue(['version'], 'must be a semantic version, such as 1.4.0')]),
  ]
}

function compatibilityFaults({ compat, engines }: Readonly<Record<string, unknown>>): readonly Issue[] {
  const range = isObject(compat) ? compat['pluginApi'] : undefined
  return [
    ...rangeFaults(range),
    ...(isObject(compat) && 'electron' in compat ? [issue(['compat', 'electron'], noElectron)] : []),
    ...(isObject(engines) && 'electron' in engines ? [issue(['engines', 'electron'], noElectron)] : []),
  ]
}

const noElectron = 'is not possible here: a sandbox has no Electron'

function rangeFaults(range: unknown): readonly Issue[] {
  const path = ['compat', 'pluginApi']
  if (typeof range !== 'string' || range.trim() === '' || semver.validRange(range) === null)
    return [issue(path, 'must be a semantic version range, such as ^1.0.0')]
  return semver.satisfies(PLUGIN_API, range) ? [] : [issue(path, excluded)]
}

const judges: Readonly<Record<string, (value: unknown) => string | null>> = {
  skills: directoriesFault,
  commands: directoriesFault,
  mcpServers: value => {
    if (typeof value === 'string') return pathFault(value)
    return isObject(value) && Object.values(value).every(isObject) ? null : 'must be an object of servers, or a path'
  },
  agentRuntimes: () => 'is not possible here: the operator installs runtimes',
  runtimes: () => 'is not possible here: the operator installs runtimes',
}

function contributionFaults(contributes: unknown): readonly Issue[] {
  if (contributes === undefined) return []
  if (!isObject(contributes)) return [issue(['contributes'], 'must be an object')]
  return Object.entries(contributes).flatMap(([name, value]) => {
    const judge = Object.hasOwn(judges, name) ? judges[name] : undefined
    const fault = judge === undefined ? 'is unknown to this platform' : judge(value)
    return fault === null ? [] : [issue(['contributes', name], fault)]
  })
}

function directoriesFault(value: unknown): string | null {
  if (!Array.isArray(value)) return 'must be a list of directories'
  for (const path of value) {
    const fault = typeof path === 'string' ? pathFault(path) : 'must be a list of directories'
    if (fault !== null) return fault
  }
  return null
}

function pathFault(path: string): string | null {
  const segments = path.replace(/^\.\//, '').replace(/\/$/, '').split('/')
  const sound = segments.every(segment => segment !== '' && segment !== '.' && segment !== '..')
  return sound && !/[\\\p{Cc}]/u.test(path) ? null : 'must hold paths below the root of the archive'
}
