import { FarHosts } from '@berth/core/hosts/far-hosts.ts'
import type { HostIdentity } from '@berth/core/hosts/host-identity.ts'
import { type Host, Hosts } from '@berth/core/hosts/hosts.ts'
import { clientAddressBehind } from '@berth/core/http/request/client-address.ts'
import type { GuessMeter } from '@berth/core/identity/guard/guess-meter.ts'
import { pino } from 'pino'
import type { TestDatabase } from '../storage/postgres.ts'

/** A process that takes hosts and does nothing with them. */
export interface TakingHosts extends AsyncDisposable {
  readonly port: number
  readonly hosts: Hosts
}

/**
 * @param identity judges hosts that are pods
 * @param guesses meters wrong tokens by the address in `X-Forwarded-For`
 */
export async function takeHosts(
  db: TestDatabase,
  holder = 'a-process',
  identity?: HostIdentity,
  factsMs = 5_000,
  guesses?: GuessMeter,
): Promise<TakingHosts> {
  const hosts = new Hosts()
  const far = new FarHosts({
    db: db.database,
    log: pino({ level: 'silent' }),
    hosts,
    holder,
    identity,
    parts: () => ({}) as Pick<Host, 'mirrors' | 'checkouts' | 'checkpoints' | 'images' | 'packages'>,
    packs: { commits: async () => [], write: async () => undefined },
    listener: { host: '127.0.0.1', port: 0 },
    clientAddress: clientAddressBehind(['127.0.0.1']),
    guesses,
    leaseMaxMs: 600_000,
    awayMs: 2_000,
    // bound: a pause between two looks
    pollMs: 50,
    factsMs,
  })
  await far.start()
  return { port: far.port, hosts, [Symbol.asyncDispose]: () => far[Symbol.asyncDispose]() }
}
