import { BerthError, defaultPlatform } from '@berth/client'
import { type Connection, type ConnectionFlags, connect, findConnection, findLocalUrl } from '../connection.ts'
import { explain, UsageError } from '../failure.ts'
import { isSameDeployment } from '../http-url.ts'
import { ServiceClock } from '../service-clock.ts'
import { standIn } from '../sign-in/stand-in.ts'
import { examineCertificate } from './certificate.ts'
import type { Finding, Report } from './finding.ts'

const ANSWER_MS = 10_000
/** Deadlines are shown by the service's clock, so a difference does little harm below this. */
const APART_MS = 5_000
/** Tokens and signatures of a minute ago are refused. */
const TOO_FAR_MS = 60_000

/** Checks the service that the flags name: whether it answers, its version, its clock, and whether it takes the key. */
export async function examineService(
  flags: ConnectionFlags,
  env: NodeJS.ProcessEnv,
  own: string,
  report: Report,
): Promise<void> {
  let connection: Connection
  try {
    const warn = async (detail: string) => report({ check: 'key', state: 'warning', detail, next: 'berth login' })
    connection = await standIn(findConnection(flags, env), warn)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const named = flags.url ?? env.BERTH_URL
    if (named)
      return report({ check: 'key', state: 'failure', detail: error.message, next: `berth login --url ${named}` })
    return report({ check: 'service', state: 'warning', detail: 'none runs here yet', next: 'script/server' })
  }
  const { url } = connection
  const certificate = await examineCertificate(url, Date.now())
  if (certificate !== null) report(certificate)
  if (!(await answers(connection, env, own, report))) return
  await examineKey(connection, report)
}

async function answers({ url }: Connection, env: NodeJS.ProcessEnv, own: string, report: Report): Promise<boolean> {
  const base = url.replace(/\/+$/, '')
  const get = (path: string) => defaultPlatform.fetch(`${base}${path}`, { signal: AbortSignal.timeout(ANSWER_MS) })
  try {
    const ready = await get('/readyz')
    if (!ready.ok) {
      const component = await member(ready, 'component')
      const detail = `${url} answers, but is not ready: ${component === null ? ready.status : `${component} does not answer`}`
      report({ check: 'service', state: 'failure', detail, next: `curl ${base}/readyz` })
      return false
    }
    const document = await get('/v1/openapi.json')
    report(versionFinding(url, (await member(document, 'info', 'version')) ?? 'unknown', own))
    report(clockFinding(ready.headers.get('date'), Date.now()))
    return true
  } catch (error) {
    const { line } = explain(error, null)
    const local = findLocalUrl(env)
    // The file of a service that has stopped stays: there is nothing wrong with this machine.
    const stopped = local !== null && isSameDeployment(local, url)
    report({
      check: 'service',
      state: stopped ? 'warning' : 'failure',
      detail: stopped ? `the one at ${url} is not running` : `nothing answers at ${url}: ${line}`,
      next: stopped ? 'script/server' : `curl ${base}/readyz`,
    })
    return false
  }
}

/** Reads a text in the JSON of an answer; null if it is not there. */
async function member(answer: Response, ...path: readonly string[]): Promise<string | null> {
  let value: unknown = await answer.json().catch(() => null)
  for (const name of path) value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : null
  return typeof value === 'string' ? value : null
}

/** Compares the version of the service with that of the command. */
export function versionFinding(url: string, version: string, own: string): Finding {
  const check = 'service'
  const major = (text: string) => text.split('.')[0]
  if (major(version) === major(own))
    return { check, state: 'ok', detail: `${url} is ready, version ${version}`, next: null }
  const detail = `${url} has version ${version}, this command ${own}`
  return { check, state: 'warning', detail, next: `npm install --global berth-cli@${major(version)}` }
}

/** Compares the clock of an answer, which has whole seconds, with this machine's. */
export function clockFinding(date: string | null, nowMs: number): Finding {
  const check = 'clock'
  const clock = new ServiceClock()
  clock.observe(date, nowMs)
  const apart = clock.now(nowMs) - nowMs
  const seconds = Math.round(Math.abs(apart) / 1000)
  if (Math.abs(apart) < APART_MS) return { check, state: 'ok', detail: "as the service's, within seconds", next: null }
  const detail = `${seconds} s ${apart > 0 ? 'behind' : 'ahead of'} the service's`
  return {
    check,
    state: Math.abs(apart) < TOO_FAR_MS ? 'warning' : 'failure',
    detail,
    next: 'timedatectl set-ntp true',
  }
}

async function examineKey(connection: Connection, report: Report): Promise<void> {
  const { origin, url } = connection
  const from = origin.kind === 'profile' ? `the sign-in of profile ${origin.name}` : `the key of ${origin.from}`
  try {
    const { capabilities } = await connect(connection, new ServiceClock()).call('getCapabilities')
    report({
      check: 'key',
      state: 'ok',
      detail: `the service takes ${from}: ${capabilities.length} capabilities`,
      next: null,
    })
  } catch (error) {
    const refused = error instanceof BerthError && error.status === 401
    const next =
      refused && origin.kind === 'key' ? 'set BERTH_API_KEY to a key of this deployment' : `berth login --url ${url}`
    report({ check: 'key', state: 'failure', detail: `${from}: ${explain(error, connection).line}`, next })
  }
}
