import { readdir, readFile } from 'node:fs/promises'
import type { Session } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { ConsolePage, personWithPassword } from '@berth/testing/console/console-page.ts'
import { TerminalClient, type Ticket, ticketOf } from '@berth/testing/console/terminal-client.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let accounts: Accounts
let page: ConsolePage
let api: Api
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } })
  const { organizationId } = accounts.test.tenant
  page = new ConsolePage(accounts.test.url, organizationId)
  await page.signIn(await personWithPassword(accounts.test.db.database, organizationId))
  api = (await accounts.person({})).api
})
afterAll(() => accounts[Symbol.asyncDispose]())

async function attached(): Promise<Session> {
  const made = await api.createSession({ runtime: 'shell' }, 'true')
  await api.runEnded(made.id, made.activeRunId ?? '')
  await until('the seal', async () => (await api.session(made.id)).phase === 'idle')
  return made
}

const ticket = async ({ id }: Session, body: object = {}): Promise<Ticket> =>
  ticketOf(await page.call('POST', `/cloud/sessions/${id}/terminals`, body))

/** The supervisor of the sandbox in which a process with this mark runs: the one that its terminal descends from. */
async function supervisorOf(mark: string): Promise<number> {
  const statusOf = async (pid: string) => {
    const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
    return { name: /^Name:\t(.*)$/m.exec(text)?.[1], parent: /^PPid:\t(\d+)$/m.exec(text)?.[1] ?? '0' }
  }
  for (const pid of (await readdir('/proc')).filter(name => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (!command.startsWith(`sleep\0${mark}\0`)) continue
    for (let at = pid; at !== '0'; ) {
      const { name, parent } = await statusOf(at)
      if (name?.startsWith('berth-supervis') === true) return Number(at)
      at = parent
    }
  }
  throw new Error(`no process sleeps for ${mark}`)
}

describe('a terminal', () => {
  it('ends with its sandbox if the supervisor is killed', async () => {
    const session = await attached()
    await using client = await new TerminalClient(await ticket(session)).ready()
    client.type('echo sle"eps"; sleep 86399\r')
    await client.until(/sleeps/)
    await until('the program', async () =>
      supervisorOf('86399').then(
        () => true,
        () => false,
      ),
    )
    process.kill(await supervisorOf('86399'), 'SIGKILL')
    expect(await client.end()).toBe('workspace_lost')
  })

  it('goes on while nobody looks, and stands still with its sandbox after a while', async () => {
    const session = await attached()
    const opened = await ticket(session)
    const client = await new TerminalClient(opened).ready()
    client.type('n=0; while :; do n=$((n+1)); echo tick-$n; sleep 0.1; done\r')
    await client.until(/tick-3\b/)
    client.socket.terminate()
    await accounts.test.db.database.query('update terminals set awake_until = now() where id = $1', [opened.terminalId])
    const text = 'select 1 from terminals where id = $1 and seal_requested_at is not null'
    const sealed = async () => (await accounts.test.db.database.query(text, [opened.terminalId])).rows.length === 1
    await until('the seal that was asked for', sealed)
    await until('an idle Session', async () => (await api.session(session.id)).phase === 'idle')
    await using again = await new TerminalClient(await ticket(session, { terminalId: opened.terminalId })).ready()
    await again.until(/tick-3\b/)
    const last = Number(/tick-(\d+)\D*$/.exec(again.output)?.[1] ?? 0)
    await again.until(new RegExp(`tick-${last + 3}\\b`))
  })
})
