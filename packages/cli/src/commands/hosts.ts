import type { AdminIo } from '../io.ts'
import { withServer } from '../server-module.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

interface Host {
  readonly id: string
  readonly name: string | null
  readonly organizationId: string | null
  readonly pool: string
  readonly driver: string | null
  readonly capacity: number | null
  readonly leases: number
  readonly state: string
  readonly restsUntil: Date | null
  readonly restsBecause: string | null
}

interface HostsModule {
  admitHost(
    env: NodeJS.ProcessEnv,
    host: {
      readonly name: string
      readonly organizationId?: string | undefined
      readonly pool?: string | undefined
      readonly capacity?: string | undefined
      readonly labels?: readonly string[] | undefined
    },
  ): Promise<{ readonly id: string; readonly token: string }>
  readHosts(env: NodeJS.ProcessEnv): Promise<readonly Host[]>
  setHost(env: NodeJS.ProcessEnv, id: string, mark: HostMark): Promise<void>
  /** Returns how many sandboxes are lost with it. */
  declareHostLost(env: NodeJS.ProcessEnv, id: string): Promise<number>
  removeHost(env: NodeJS.ProcessEnv, id: string): Promise<void>
}

export interface TokenOptions {
  readonly organization?: string
  readonly pool?: string
  readonly capacity?: string
  readonly label?: readonly string[]
  readonly json?: boolean
}

interface JsonOption {
  readonly json?: boolean
}

type HostMark = 'open' | 'cordoned' | 'drained'

const withHosts = <Result>(work: (module: HostsModule) => Promise<Result>) =>
  withServer('@berth/server/admin-hosts', work)

/** Admits a host that dials in, and prints its token, which is never shown again. It writes to the database. */
export async function admitHost(name: string, options: TokenOptions, { env, print }: AdminIo): Promise<void> {
  const { organization: organizationId, pool, capacity, label: labels } = options
  const host = { name, organizationId, pool, capacity, labels }
  const { id, token } = await withHosts(module => module.admitHost(env, host))
  if (options.json) return print(jsonLine({ id, token }))
  print(`host ${id}`)
  print(`BERTH_HOST_TOKEN=${token}`)
}

export async function listHosts({ json }: JsonOption, { env, print }: AdminIo): Promise<void> {
  const hosts = await withHosts(module => module.readHosts(env))
  for (const host of hosts) print(json ? jsonLine(host) : printableLine(hostLine(host)))
}

/** Opens, closes or empties a host. It writes to the database. */
export async function markHost(
  id: string,
  mark: HostMark,
  { json }: JsonOption,
  { env, print }: AdminIo,
): Promise<void> {
  await withHosts(module => module.setHost(env, id, mark))
  print(json ? jsonLine({ id, mark }) : printableLine(`host ${id}: ${sentences[mark]}`))
}

/** Declares that a host is gone for good. It writes to the database. */
export async function declareHostLost(id: string, { json }: JsonOption, { env, print }: AdminIo): Promise<void> {
  const sandboxes = await withHosts(module => module.declareHostLost(env, id))
  const text = `host ${id} is lost, with ${sandboxes} sandbox${sandboxes === 1 ? '' : 'es'}; its sessions go on elsewhere`
  print(json ? jsonLine({ id, lost: true, sandboxes }) : printableLine(text))
}

/** Forgets a host and its token. It writes to the database. */
export async function removeHost(id: string, { json }: JsonOption, { env, print }: AdminIo): Promise<void> {
  await withHosts(module => module.removeHost(env, id))
  print(json ? jsonLine({ id, removed: true }) : printableLine(`host ${id} is removed`))
}

const sentences: Readonly<Record<HostMark, string>> = {
  open: 'it gets sandboxes again',
  cordoned: 'it gets no more sandboxes',
  drained: 'it gets no more sandboxes, and gives back those that rest',
}

function hostLine(host: Host): string {
  const { id, name, organizationId, pool, driver, capacity, leases, state, restsUntil, restsBecause } = host
  const held = `${leases}/${capacity ?? '-'}`
  const facts = [state.padEnd(8), held.padStart(7), id, name ?? '-', pool, driver ?? '-', organizationId ?? 'shared']
  const rest = state === 'resting' && restsUntil !== null ? [restLine(restsUntil, restsBecause)] : []
  return [...facts, ...rest].join('  ')
}

/** Hosts elsewhere have other time zones than whoever reads this, so the time is that of UTC. */
const restLine = (until: Date, because: string | null): string =>
  `until ${until.toISOString().slice(0, 19)}Z: ${restCauses.get(because ?? '') ?? because}`

const restCauses: ReadonlyMap<string, string> = new Map(
  Object.entries({
    no_answer: 'it did not answer',
    line_cut: 'its connection broke while it made a sandbox',
  }),
)
