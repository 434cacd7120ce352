import { randomBytes } from 'node:crypto'
import type { Session } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { ConsolePage, personWithPassword } from '@berth/testing/console/console-page.ts'
import { TerminalClient, type Ticket, ticketOf } from '@berth/testing/console/terminal-client.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { databaseUrl, testVariables } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let page: ConsolePage
let api: Api
let accounts: Accounts
let worker: ServiceProcess
beforeAll(async () => {
  const key = { BERTH_MASTER_KEY: randomBytes(32).toString('hex') }
  accounts = stack.use(await startAccounts({ variables: key }))
  const { db, dataDir, url, tenant } = accounts.test
  worker = stack.use(
    await startServiceProcess({
      ...testVariables,
      ...key,
      BERTH_ROLES: 'worker',
      BERTH_DATA_DIR: dataDir,
      DATABASE_URL: databaseUrl(db),
    }),
  )
  page = new ConsolePage(url, tenant.organizationId)
  await page.signIn(await personWithPassword(db.database, tenant.organizationId))
  api = (await accounts.person({})).api
})
afterAll(() => stack.disposeAsync())

const ticket = async ({ id }: Session): Promise<Ticket> =>
  ticketOf(await page.call('POST', `/cloud/sessions/${id}/terminals`, {}))

it('a terminal goes on while its worker stands still, and one that is closed meanwhile never gets a shell', async () => {
  const session = await api.createSession({ runtime: 'shell' }, 'true')
  await api.runEnded(session.id, session.activeRunId ?? '')
  await until('the seal', async () => (await api.session(session.id)).phase === 'idle')
  await using client = await new TerminalClient(await ticket(session)).ready()
  process.kill(worker.pid, 'SIGSTOP')
  try {
    client.type('echo go"es"-on\r')
    await client.until(/goes-on/)
    const closed = await ticket(session)
    await using later = new TerminalClient(await ticket(session))
    expect(outcome(await page.call('DELETE', `/cloud/terminals/${closed.terminalId}`))).toBe('204')
    process.kill(worker.pid, 'SIGCONT')
    await later.ready()
    later.type('cd /dev/pts; echo shells: $(ls -d [0-9]* | wc -l)\r')
    await later.until(/shells: 2\r/)
  } finally {
    process.kill(worker.pid, 'SIGCONT')
  }
})
