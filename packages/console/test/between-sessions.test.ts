import type { Session } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { givePassword } from '@berth/testing/console/console-page.ts'
import { buildDevelopmentPage } from '@berth/testing/console/development-page.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let accounts: Accounts
let api: Api
let visitor: Visitor
let page: Page
/** Requests that decide or answer something: the Session and the rest of the path. */
const decided: string[] = []
/** By the title. */
let sessions: ReadonlyMap<string, Session>

/** A form with one field, named for its Session. */
const form = (name: string) =>
  JSON.stringify({
    message: `Which word for ${name}?`,
    requestedSchema: { properties: { [name]: { type: 'string', title: `Word for ${name}` } }, required: [name] },
  })

/** The step that each Session's agent waits for, by the title, and text of the page that belongs to it alone. */
const scripts: Readonly<Record<string, { readonly script: string; readonly words: string | null }>> = {
  'First approval': { script: 'allow rm -rf first', words: 'rm -rf first' },
  'First question': { script: `choose ${form('apples')}`, words: 'Which word for apples?' },
  'First plan': { script: 'propose Plant the *first* tree.', words: 'Plant the first tree.' },
  'Second approval': { script: 'allow rm -rf second', words: 'rm -rf second' },
  'Second question': { script: `choose ${form('pears')}`, words: 'Which word for pears?' },
  'Second plan': { script: 'propose Plant the *second* tree.', words: 'Plant the second tree.' },
  'Nothing waits': { script: 'say Ready.', words: null },
}
const titles = Object.keys(scripts)

beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  const { directory: consoleDirectory } = stack.use(await buildDevelopmentPage())
  const variables = { BERTH_ROLES: 'api,account,gateway,worker' }
  accounts = stack.use(await startAccounts({ variables, config: { runtimes }, consoleDirectory }))
  const { test } = accounts
  const own = await accounts.person({})
  await givePassword(test.db.database, own.who)
  api = own.api
  const made = titles.map(
    async title => [title, await api.createSession({ title, runtime: 'scripted' }, scripts[title]?.script)] as const,
  )
  sessions = new Map(await Promise.all(made))
  for (const title of titles) if (scripts[title]?.words !== null) await until(title, () => isOpen(title))
  visitor = await openVisitor(stack)
  page = visitor.page
  page.on('request', request => {
    const [, session, rest] = /\/sessions\/([0-9a-f-]{36})\/(.*)/.exec(request.url()) ?? []
    if (request.method() === 'PUT' && /^(interactions|turns)\//.test(rest ?? '')) decided.push(session ?? '')
  })
  await openSignedIn(page, `${test.url}/sessions`, own.who)
})
afterAll(() => stack.disposeAsync())

const idOf = (title: string) => sessions.get(title)?.id ?? ''

/** Returns whether the agent of a Session waits for a person. */
async function isOpen(title: string): Promise<boolean> {
  const { body } = await api.get<{ interactions: unknown[] }>(`/v1/sessions/${idOf(title)}/interactions`)
  return body.interactions.length > 0
}

const openTitles = async () => {
  const open = await Promise.all(titles.map(isOpen))
  return titles.filter((_, at) => open[at])
}

/** Follows a link beside the page. */
const follow = (title: string) =>
  page.getByRole('navigation', { name: 'Recent' }).getByRole('link', { name: title }).click()

/** Waits for the page of a Session, and returns the words of cards on it that wait for somebody. */
async function cardsOf(title: string): Promise<string[]> {
  await page.getByRole('heading', { level: 1, name: title }).waitFor()
  const { words = null } = scripts[title] ?? {}
  const dock = page.getByRole('main').getByRole('region', { name: /^(Waiting for you|Decided meanwhile)$/ })
  const cards = dock.getByRole('article')
  if (words !== null) await cards.getByText(words).first().waitFor()
  else await page.getByText('Finished').waitFor()
  const found: string[] = []
  for (const card of await cards.all()) found.push((await card.innerText()).replaceAll(/\s+/g, ' '))
  return found
}

/** Expects that the page shows the card of one Session, and of no other. */
async function expectOwn(title: string): Promise<void> {
  const cards = await cardsOf(title)
  const { words = null } = scripts[title] ?? {}
  expect(cards, title).toHaveLength(words === null ? 0 : 1)
  if (words === null) return
  expect(cards[0]).toContain(words)
  // Others wait too, so it says for whom it asks.
  expect(cards[0]).toContain(`in ${title}`)
}

describe('a person who goes from Session to Session', () => {
  it('sees on each page only what that Session asks, by links, back and forward', async () => {
    const way = [...titles, 'First plan', 'Second plan', 'First approval', 'Second question']
    for (const title of way) {
      await follow(title)
      await expectOwn(title)
    }
    for (const title of way.slice(0, -1).toReversed()) {
      await page.goBack()
      await expectOwn(title)
    }
    for (const title of way.slice(1)) {
      await page.goForward()
      await expectOwn(title)
    }
  })

  it('sees nothing of a Session that asks only after it was left', async () => {
    const title = 'Asks late'
    const late = await api.createSession({ title, runtime: 'scripted' }, 'say Begun.\nwait go\nallow rm -rf late')
    await follow(title)
    await page.getByRole('log').getByText('Begun.').waitFor()
    await follow('Nothing waits')
    await cardsOf('Nothing waits')
    await touch(accounts.test.db.database, accounts.test.dataDir, late, 'go')
    // The list beside the page has heard of it.
    await page.getByRole('navigation', { name: 'Main' }).getByText('7 need you').waitFor()
    expect(await cardsOf('Nothing waits')).toEqual([])
    await follow(title)
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.getByText('Finished').waitFor()
  })

  it('is not asked on one page what was begun on another', async () => {
    const menu = page.getByRole('button', { name: 'Actions of this Session' })
    const find = page.getByRole('searchbox', { name: 'Find in this Session' })
    for (const title of ['Nothing waits', 'First plan']) {
      await page.evaluate(`__TSR_ROUTER__.history.push('/sessions/${idOf(title)}?panel=details')`)
      await page.getByRole('heading', { level: 1, name: title }).waitFor()
      await menu.waitFor()
      expect(await find.count()).toBe(0)
      await page.getByRole('button', { name: 'Find in this Session' }).click()
      await find.fill('first')
      await menu.click()
      await page.getByRole('menuitem', { name: 'Archive…' }).click()
      await page.getByRole('dialog', { name: 'Archive this Session?' }).getByText('can never be continued').waitFor()
    }
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Nothing waits' }).waitFor()
    await menu.waitFor()
    expect(await page.getByRole('button', { name: 'Archive for good' }).count()).toBe(0)
    expect(await find.count()).toBe(0)
  })

  it('decides for the Session whose page is open, and for no other', async () => {
    const answers: Readonly<Record<string, () => Promise<void>>> = {
      'Second approval': async () => {
        await page.locator('[aria-keyshortcuts=a]', { hasText: 'Allow once' }).waitFor()
        await page.keyboard.press('a')
      },
      'First plan': () => page.getByRole('button', { name: 'Approve the plan' }).click(),
      'Second question': async () => {
        await page.getByLabel('Your answer').fill('Conference')
        await page.keyboard.press('Enter')
      },
    }
    for (const [title, answer] of Object.entries(answers)) {
      // Through all others first: the page of each has been open before.
      for (const other of titles) if (other !== title) await follow(other)
      await follow(title)
      await expectOwn(title)
      decided.length = 0
      const before = await openTitles()
      await answer()
      await page.getByText('Finished').waitFor()
      expect(decided).toEqual([idOf(title)])
      expect(await openTitles()).toEqual(before.filter(each => each !== title))
    }
  })

  it('gives React no reason for a warning', () => {
    expect(visitor.complaints).toEqual([])
  })
})
