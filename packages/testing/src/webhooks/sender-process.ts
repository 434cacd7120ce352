// A sender in a process of its own. It kills itself at the point that its argument names: `SenderProcess` as JSON.

import { once } from 'node:events'
import { connect } from 'node:net'
import { Poster } from '@berth/core/webhooks/poster.ts'
import { Sender, senderLimits } from '@berth/core/webhooks/sender.ts'
import { webhookRules } from '@berth/core/webhooks/webhook-url.ts'
import type { Network } from '@berth/platform/network/dial.ts'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { openDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { silentLog } from '../services/log.ts'
import type { TestDatabase } from '../storage/postgres.ts'

/** What the process is told. */
export interface SenderProcess {
  readonly connection: TestDatabase['connection']
  readonly masterKey: string
  readonly ca: string
  /** Port of the receiver on loopback. */
  readonly port: number
  readonly now: number
  readonly claimMs: number
  /** `claimed`: before DNS; `dialled`: before the request; `answered`: before the outcome is written; `written`: after. */
  readonly dieAt: 'claimed' | 'dialled' | 'answered' | 'written' | 'never'
}

const settings: SenderProcess = JSON.parse(process.argv[2] ?? '')

function reach(point: SenderProcess['dieAt']): void {
  if (settings.dieAt === point) process.kill(process.pid, 'SIGKILL')
}

let connected = false
const pool = openDatabase({ connection: settings.connection, log: silentLog })
const db: Database = {
  query: (statement, values) => pool.query(statement, values),
  async transaction(work, options) {
    // A claim is a transaction too; the first one after a connection writes the outcome.
    const claims = !connected
    if (!claims) reach('answered')
    const value = await pool.transaction(work, options)
    if (!claims) reach('written')
    return value
  },
}
const network: Network = {
  lookUp: async () => [],
  async resolve() {
    reach('claimed')
    return ['93.184.216.34']
  },
  async dial() {
    const socket = connect({ host: '127.0.0.1', port: settings.port, allowHalfOpen: true })
    await once(socket, 'connect')
    connected = true
    reach('dialled')
    return socket
  },
}
const sender = new Sender(
  {
    db,
    wakeups: { live: true, publish: () => undefined, subscribe: () => () => undefined, known: async () => undefined },
    clock: { now: () => new Date(settings.now) },
    log: silentLog as never,
    masterKey: new MasterKey(Buffer.from(settings.masterKey, 'hex')),
    rules: webhookRules({ ports: [443], allow: [] }, () => false),
    network,
    poster: new Poster(network, settings.ca),
    timeoutMs: 10_000,
  },
  // bound: a pause between two looks
  { ...senderLimits, pollMs: 50, claimMs: settings.claimMs },
)
await sender.start()
