import { randomUUID } from 'node:crypto'
import type { Session, TurnPage } from '@berth/contract'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { givePassword } from '@berth/testing/console/console-page.ts'
import { pageFaults, shoot } from '@berth/testing/console/page-checks.ts'
import { deliverPull, openInteraction } from '@berth/testing/console/session-rows.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { LogWriter } from '@berth/testing/events/log-writer.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { until } from '@berth/testing/until.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let writer: LogWriter
let visitor: Visitor
let page: Page
/** The same person at a terminal, and somebody else of the organization. */
let api: Api
let colleague: Api
beforeAll(async () => {
  accounts = stack.use(await startAccounts())
  writer = stack.use(await LogWriter.open(accounts.test.db))
  const own = await accounts.person({})
  await givePassword(accounts.test.db.database, own.who)
  api = own.api
  const other = await accounts.person({})
  await change('update people set name = $2 where id = $1', other.who.personId, 'Ada Lovelace')
  colleague = other.api
  visitor = await openVisitor(stack)
  page = visitor.page
  await openSignedIn(page, `${accounts.test.url}/sessions`, own.who)
})
afterAll(() => stack.disposeAsync())

const change = (text: string, ...values: readonly unknown[]) => accounts.test.db.database.query(text, values)
/** Appends an Event, which the feed tells. */
const happen = ({ organizationId, id }: Session) => writer.append({ organizationId, sessionId: id }, 1)
const rows = (group: string) => page.getByRole('region', { name: group }).locator('[data-list-item]').allTextContents()
/** A list that stands for the one to come is paler, and may already show what is waited for. */
const shows = (group: string, ...titles: readonly string[]) =>
  until(
    `${group}: ${titles}`,
    async () =>
      (await page.locator('[aria-busy=true]').count()) === 0 &&
      JSON.stringify(await rows(group)) === JSON.stringify(titles),
  )
const row = (title: string) =>
  page.getByRole('listitem').filter({ has: page.locator('[data-list-item]', { hasText: title }) })
const all = () => page.locator('[data-list-item]').allTextContents()
const focused = () => page.locator('[data-list-item]:focus').textContent()

const made: Record<string, Session> = {}
const start = async (title: string, message?: string, by = api): Promise<Session> => {
  made[title] = await by.createSession({ title }, message)
  return made[title]
}

describe('the list of Sessions', () => {
  it('welcomes a person who has none', async () => {
    await page.getByRole('heading', { name: /Welcome/ }).waitFor()
    await page.getByRole('link', { name: 'Needs you' }).click()
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor()
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('link', { name: 'Show all' }).click()
    await page.getByRole('heading', { name: /Welcome/ }).waitFor()
  })

  it('shows a person their own Sessions, and everyone’s when asked to', async () => {
    await start('Write the changelog', 'a', colleague)
    await page.reload()
    await page.getByRole('heading', { name: 'None of them is yours' }).waitFor()
    await page.getByRole('link', { name: 'Show everyone’s' }).click()
    await page.locator('a:not([aria-current])', { hasText: 'Mine' }).waitFor()
    await shows('Working', 'Write the changelog')
  })

  it('shows at once what others start, and moves what begins to wait', async () => {
    await start('Upgrade the parser', 'a')
    await start('Tidy the tests')
    await shows('Working', 'Upgrade the parser', 'Write the changelog')
    await shows('Today', 'Tidy the tests')
    const deadline = new Date(Date.now() + 5 * 60_000)
    const waits = made['Upgrade the parser'] as Session
    await openInteraction(accounts.test.db.database, waits, { kind: 'approval', deadline })
    await happen(waits)
    await shows('Needs you', 'Upgrade the parser')
    await shows('Working', 'Write the changelog')
    await row('Upgrade the parser').getByText('Asks to be allowed').waitFor()
    expect(await row('Upgrade the parser').getByRole('timer').textContent()).toMatch(/^[45]:\d\d$/)
    expect(await page.title()).toBe('(1) Sessions · Berth')
    await page.getByRole('navigation', { name: 'Main' }).getByText(', 1 need you').first().waitFor()
    await row('Write the changelog').getByText('Started by Ada Lovelace').waitFor()
  })

  it('tells what a Session has delivered and cost', async () => {
    const session = await start('Mend the login', 'a')
    await change(
      `update runs set status = 'completed', ended_at = now(), cost_usd = 1.25 where session_id = $1`,
      session.id,
    )
    await deliverPull(accounts.test.db.database, session, {
      number: 7,
      url: 'https://git.example/p/7',
      merge: 'waiting',
    })
    const source = {
      kind: 'github',
      grantId: randomUUID(),
      repositoryId: '77',
      label: 'acme/web',
      private: true,
      baseBranch: 'main',
      baseOid: '0'.repeat(40),
    }
    await change('update sessions set source = $2 where id = $1', session.id, source)
    await page.reload()
    await row('Mend the login').getByText('#7').waitFor()
    expect(await row('Mend the login').textContent()).toMatch(/acme\/web · main.*Merges when ready.*\$1\.25/)
    await shoot(page, 'sessions')
    expect(await pageFaults(page)).toEqual([])
  })

  it('says why a Run failed, and tries again with the same message and files', async () => {
    const { id } = await start('Upgrade every dependency')
    const sent = [{ name: 'versions.txt', mediaType: 'text/plain', content: btoa('koa 3') }]
    await api.submitTurn(id, 'Upgrade them', { files: sent })
    const failed = await api.session(id)
    const limited = await start('Port the tests', 'Port them')
    const standIn = new WorkerStandIn(accounts.test.db.database)
    for (const session of [failed, limited]) {
      await standIn.attach(session)
      await standIn.start(session, session.activeRunId ?? '')
    }
    await standIn.end(failed, failed.activeRunId ?? '', { status: 'failed', errorCode: 'model_unavailable' })
    await standIn.end(limited, limited.activeRunId ?? '', { status: 'completed', stopReason: 'max_turns', turns: 200 })
    await happen(failed)
    await happen(limited)
    await row('Upgrade every dependency').getByText('Failed: the model provider is down').waitFor()
    await row('Port the tests').getByText('Stopped: it reached its limit of 200 steps').waitFor()
    await page.getByRole('link', { name: 'Failed', exact: true }).click()
    await shows('Today', 'Upgrade every dependency')
    await page.locator('[aria-busy=true]').waitFor({ state: 'detached' })
    await shoot(page, 'sessions-failed')
    expect(await pageFaults(page)).toEqual([])
    await row('Upgrade every dependency').getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'No Session is here: Failed' }).waitFor()
    await page.getByRole('link', { name: 'Show all' }).click()
    await row('Port the tests').getByRole('button', { name: 'Continue' }).click()
    await shows('Working', 'Port the tests', 'Upgrade every dependency', 'Write the changelog')
    const messages = async ({ id }: Session) =>
      (await api.get<{ turns: { message: string }[] }>(`/v1/sessions/${id}/turns`)).body.turns.map(turn => turn.message)
    expect([await messages(failed), await messages(limited)]).toEqual([
      ['Upgrade them', 'Upgrade them'],
      ['Port them', 'Continue.'],
    ])
    const { turns } = (await api.get<TurnPage>(`/v1/sessions/${id}/turns`)).body
    expect(turns[1]?.files).toEqual(turns[0]?.files)
    expect(turns[1]?.files).toMatchObject([{ name: 'versions.txt', mediaType: 'text/plain', sizeBytes: 5 }])
    for (const { id } of [failed, limited]) await api.call('DELETE', `/v1/sessions/${id}`)
    await shows('Working', 'Write the changelog')
  })

  it('keeps its filters in the URL', async () => {
    await page.getByRole('link', { name: 'Pull request open', exact: true }).click()
    await shows('Today', 'Mend the login')
    await until('one row', async () => (await all()).length === 1)
    await page.getByRole('link', { name: 'Pull request open', exact: true }).click()
    await page.getByLabel('Repository', { exact: true }).selectOption('acme/web')
    await page.waitForURL(({ search }) => search === '?everyone=true&repository=github%3A77')
    await until('one row', async () => (await all()).length === 1)
    await page.reload()
    await shows('Today', 'Mend the login')
    await page.getByLabel('Repository', { exact: true }).selectOption('All repositories')
    await page.getByRole('link', { name: 'Mine' }).click()
    await until('mine', async () => !(await all()).includes('Write the changelog'))
    await page.getByRole('searchbox').fill('tidy nothing')
    await page.getByRole('heading', { name: 'No Session matches' }).waitFor()
    await shoot(page, 'sessions-no-match')
    await page.getByRole('link', { name: 'Show all' }).click()
    await page.getByRole('link', { name: 'Mine' }).click()
    await shows('Working', 'Write the changelog')
    expect(await page.getByRole('searchbox').inputValue()).toBe('')
  })

  it('is worked through with the keyboard alone', async () => {
    await page.keyboard.press('j')
    expect(await focused()).toBe('Upgrade the parser')
    await page.keyboard.press('j')
    expect(await focused()).toBe('Write the changelog')
    await page.keyboard.press('k')
    await page.keyboard.press('k')
    expect(await focused()).toBe('Upgrade the parser')
    for (let at = 0; at < 3; at++) await page.keyboard.press('j')
    expect(await focused()).toBe('Tidy the tests')
    await page.keyboard.press('p')
    await shows('Pinned', 'Tidy the tests')
    // The row has moved, and the focus with it.
    expect(await focused()).toBe('Tidy the tests')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Tidy the tests' }).waitFor()
    await page.goBack()
  })

  it('marks what has happened since the person looked, until they look', async () => {
    await happen(made['Tidy the tests'] as Session)
    await row('Tidy the tests').getByText('Unread').waitFor()
    await page.locator('[data-list-item]', { hasText: 'Tidy the tests' }).focus()
    await page.keyboard.press('m')
    await row('Tidy the tests').getByText('Unread').waitFor({ state: 'detached' })
    const newest = await happen(made['Tidy the tests'] as Session)
    await row('Tidy the tests').getByText('Unread').waitFor()
    // Its name shows before what has happened does; who leaves by then has not looked.
    const noted = page.waitForResponse(
      answer => answer.url().endsWith('/read') && answer.ok() && answer.request().postDataJSON().sequence >= newest,
    )
    await page.locator('[data-list-item]', { hasText: 'Tidy the tests' }).click()
    await page.getByRole('heading', { level: 1, name: 'Tidy the tests' }).waitFor()
    await noted
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Sessions' }).first().click()
    await row('Tidy the tests').getByText('Unread').waitFor({ state: 'detached' })
  })

  it('hides what was snoozed by a key, and has it back when it is due or asks', async () => {
    const asking = await start('Look into the outage', 'a')
    const later = await start('Rename the package')
    for (const title of ['Look into the outage', 'Rename the package']) {
      await row(title).waitFor()
      await page.locator('[data-list-item]', { hasText: title }).focus()
      await page.keyboard.press('h')
      const dialog = page.getByRole('dialog', { name: 'Snooze this Session?' })
      await dialog.getByText(title).waitFor()
      if (title === 'Rename the package') {
        await shoot(page, 'sessions-snooze')
        expect(await pageFaults(page)).toEqual([])
      }
      await dialog.getByRole('button', { name: 'Until tomorrow' }).click()
      await row(title).waitFor({ state: 'detached' })
    }
    await page.getByRole('button', { name: 'Snoozed' }).click()
    await shows('Snoozed', 'Rename the package', 'Look into the outage')
    await row('Rename the package')
      .getByText(/^ ?Until /)
      .waitFor()
    await shoot(page, 'sessions-snoozed')
    expect(await pageFaults(page)).toEqual([])
    await openInteraction(accounts.test.db.database, asking, { kind: 'approval', deadline: null })
    await happen(asking)
    await row('Look into the outage').getByText('Asks').waitFor()
    expect(await rows('Needs you')).toContain('Look into the outage')
    // A list that was read while a snooze was on ends it by the clock alone.
    await change(
      `update session_marks set snoozed_until = now() + interval '3 seconds' where session_id = $1`,
      later.id,
    )
    await page.reload()
    await until('it is back', async () => (await rows('Today')).includes('Rename the package'))
    await page.locator('[data-list-item]', { hasText: 'Rename the package' }).focus()
    await page.keyboard.press('h')
    await page.getByRole('button', { name: 'Until it needs me' }).click()
    await page.getByRole('button', { name: 'Snoozed' }).click()
    await row('Rename the package').getByText('Until it needs you').waitFor()
    await page.locator('[data-list-item]', { hasText: 'Rename the package' }).focus()
    await page.keyboard.press('h')
    await until('it is back', async () => (await rows('Today')).includes('Rename the package'))
    for (const { id } of [asking, later]) await api.call('DELETE', `/v1/sessions/${id}`)
    await row('Rename the package').waitFor({ state: 'detached' })
  })

  it('archives from the row, after asking', async () => {
    await row('Tidy the tests').hover()
    await page.getByRole('button', { name: 'Actions for Tidy the tests' }).click()
    await shoot(page, 'sessions-menu')
    await page.getByRole('menuitem', { name: 'Unpin' }).click()
    await shows('Today', 'Tidy the tests', 'Mend the login')
    await page.locator('[data-list-item]', { hasText: 'Tidy the tests' }).focus()
    await page.keyboard.press('e')
    await page.getByRole('dialog', { name: 'Archive this Session?' }).waitFor()
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Archive for good' }).click()
    await shows('Today', 'Mend the login')
    await page.getByRole('link', { name: 'Archived' }).click()
    await shows(
      'Today',
      'Tidy the tests',
      'Rename the package',
      'Look into the outage',
      'Port the tests',
      'Upgrade every dependency',
    )
  })

  it('archives what was selected by keys, all at once', async () => {
    const old = ['Old one', 'Old two', 'Old three']
    for (const title of old) {
      const { id } = await start(title)
      await change(`update sessions set updated_at = now() - interval '3 days' where id = $1`, id)
    }
    await page.goto(`${accounts.test.url}/sessions`)
    await shows('Earlier', ...old.toReversed())
    await page.locator('[data-list-item]', { hasText: 'Old three' }).focus()
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Shift+x')
    await page.getByRole('toolbar', { name: 'Selected Sessions' }).getByText('3 selected').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('toolbar', { name: 'Selected Sessions' }).waitFor({ state: 'detached' })
    await page.keyboard.press('x')
    await row('Old three')
      .getByRole('checkbox')
      .click({ modifiers: ['Shift'] })
    await page.locator('[data-list-item]', { hasText: 'Old two' }).focus()
    await page.keyboard.press('x')
    await shoot(page, 'sessions-selected')
    expect(await pageFaults(page)).toEqual([])
    // The row in focus is not among the selected ones.
    await page.keyboard.press('e')
    await page.getByRole('dialog', { name: 'Archive this Session?' }).getByText('Old two').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.locator('[data-list-item]', { hasText: 'Old one' }).focus()
    await page.keyboard.press('e')
    const dialog = page.getByRole('dialog', { name: 'Archive 2 Sessions?' })
    await dialog.waitFor()
    expect(await dialog.getByRole('listitem').allTextContents()).toEqual(['Old three', 'Old one'])
    await page.getByRole('button', { name: 'Archive for good' }).click()
    await shows('Earlier', 'Old two')
    expect((await api.session(made['Old one']?.id ?? '')).archivedAt).toBeTruthy()
    await page.keyboard.press('g')
    await page.keyboard.press('e')
    await page.waitForURL('**/environments')
    await page.keyboard.press('g')
    await page.keyboard.press('s')
    await shows('Earlier', 'Old two')
    await page.locator('[data-list-item]', { hasText: 'Old two' }).focus()
    await page.keyboard.press('e')
    await page.getByRole('dialog', { name: 'Archive this Session?' }).waitFor()
    await api.call('DELETE', `/v1/sessions/${made['Old two']?.id}`)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('names ten of those that it archives, and counts the others', async () => {
    for (let at = 0; at < 12; at += 1) await start(`One of many ${at}`)
    await row('One of many 11').waitFor()
    await row('One of many 11').getByRole('checkbox').click()
    await row('One of many 0')
      .getByRole('checkbox')
      .click({ modifiers: ['Shift'] })
    await page.getByRole('button', { name: 'Archive…' }).click()
    const names = page.getByRole('dialog', { name: 'Archive 12 Sessions?' }).getByRole('listitem')
    expect(await names.allTextContents()).toEqual([
      ...Array.from({ length: 10 }, (_, at) => `One of many ${11 - at}`),
      'and 2 more',
    ])
    for (let at = 0; at < 12; at += 1) await api.call('DELETE', `/v1/sessions/${made[`One of many ${at}`]?.id}`)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('says in the Session that its work is lost, and goes on from the start when asked to', async () => {
    const lost = await start('Bump the linter', 'a')
    const runId = lost.activeRunId ?? ''
    const standIn = new WorkerStandIn(accounts.test.db.database)
    await standIn.start(lost, runId)
    await standIn.end(lost, runId, { status: 'crashed' })
    await page.goto(`${accounts.test.url}/sessions/${lost.id}`)
    const banner = page.getByText(/left no complete copy/)
    await banner.waitFor()
    expect(await pageFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Reset the Session' }).click()
    await banner.waitFor({ state: 'detached' })
    expect((await api.session(lost.id)).continuation).toMatchObject({ canContinue: true })
    await api.call('DELETE', `/v1/sessions/${lost.id}`)
  })

  it('says in the Session that its Run failed as soon as its work is saved', async () => {
    const failed = await start('Sort the imports', 'a')
    const { organizationId, id, activeRunId = '' } = failed
    const standIn = new WorkerStandIn(accounts.test.db.database)
    await standIn.attach(failed)
    await standIn.start(failed, activeRunId)
    await change(
      `insert into executions values ($1, $2, 1, 'run', $3, 1, 'h', now(), now(), now() + interval '1 hour')`,
      ...[organizationId, id, activeRunId],
    )
    await page.goto(`${accounts.test.url}/sessions/${id}`)
    const status = page.locator('header').getByText('Working', { exact: true })
    await status.waitFor()
    const saving = page.waitForResponse(`**/v1/sessions/${id}`)
    await standIn.end(failed, activeRunId, { status: 'failed', errorCode: 'model_unavailable' }, { seal: true })
    writer.announce(topics.session(organizationId, id))
    await saving
    await status.waitFor()
    await change('update executions set task = null, run_id = null where session_id = $1', id)
    await change('update sessions set moved_in = pg_current_xact_id()::text::bigint >> 12 where id = $1', id)
    writer.announce(topics.session(organizationId, id))
    await page.locator('header').getByText('Failed', { exact: true }).waitFor()
    await page.locator('header').getByRole('button', { name: 'Try again' }).waitFor()
    await page.getByRole('log').getByRole('button', { name: 'Try again' }).waitFor()
    await page.getByRole('log').getByRole('link', { name: 'Models' }).waitFor()
    await api.call('DELETE', `/v1/sessions/${id}`)
  })

  it('reaches everything on a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${accounts.test.url}/sessions`)
    await page.getByRole('button', { name: 'Actions for Mend the login' }).click()
    await page.getByRole('menuitem', { name: 'Pin', exact: true }).click()
    await shows('Pinned', 'Mend the login')
  })

  it('counts all Sessions, and loads older ones as somebody comes to them', async () => {
    await page.setViewportSize({ width: 1280, height: 800 })
    // Digits stand in ids as well, so the first has a word of its own.
    await api.createSession({ title: 'Ancient' })
    for (let at = 1; at < 55; at++) await api.createSession({ title: `Old ${at}` })
    await accounts.test.api.createSession({ title: 'Somebody’s' })
    await page.reload()
    await page.getByText('57 Sessions', { exact: true }).waitFor()
    await page.getByRole('button', { name: /older Sessions/ }).waitFor()
    // The palette asks the service for Sessions that the page has not loaded.
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search Sessions' }).fill('Ancient')
    await page.getByRole('option', { name: /Ancient$/ }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('[data-list-item]').last().focus()
    await page.keyboard.press('End')
    await page.locator('[data-list-item]', { hasText: /^Ancient$/ }).waitFor()
    expect(new Set(await rows('Today')).size).toBe(55)
    await page.getByText('57 Sessions', { exact: true }).waitFor()
  })

  it('never met the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
