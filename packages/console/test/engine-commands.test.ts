import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { personWithPassword } from '@berth/testing/console/console-page.ts'
import { pageFaults } from '@berth/testing/console/page-checks.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let service: GatewayService
let visitor: Visitor
let page: Page
beforeAll(async () => {
  service = stack.use(
    await startGatewayService({
      variables: { BERTH_ROLES: 'api,account,gateway,worker' },
      provider: { models: [{ id: 'm1', contextTokens: 20_000, outputTokens: 4096 }] },
      models: { default: 'main/m1' },
    }),
  )
  const { test } = service
  const person = await personWithPassword(test.db.database, test.tenant.organizationId)
  visitor = await openVisitor(stack)
  page = visitor.page
  const session = await test.api.createSession({})
  await openSignedIn(page, `${test.url}/sessions/${session.id}`, person)
})
afterAll(() => stack.disposeAsync())

const log = () => page.getByRole('log')
const call = (name: string, args: Readonly<Record<string, unknown>>) => says({ calls: [{ name, args }] })
const lastRequest = () => JSON.stringify(service.upstream.requests.at(-1)?.body)

/** Writes a message line by line and sends it, as a person does; the list of commands takes the first Enter. */
async function send(command: string, rest = ''): Promise<void> {
  const box = page.getByLabel('Message to the agent')
  await box.click()
  await box.pressSequentially(command)
  if (rest !== '') {
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.insertText(rest)
  }
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await expect.poll(() => box.inputValue()).toBe('')
}

describe('a command in the message box', () => {
  it('has a plan made first, which is changed as the box says and then carried out', async () => {
    service.upstream.next(
      call('write', { path: 'early.txt', content: 'too early' }),
      call('exit_plan_mode', { plan: '# Plan\n\nWrite a.txt.' }),
      call('exit_plan_mode', { plan: '# Plan\n\nWrite b.txt.' }),
      call('write', { path: 'b.txt', content: 'planned' }),
      says({ text: 'Written as planned.' }),
    )
    await send('/plan', 'Write it')
    const dock = page.getByRole('region', { name: 'Waiting for you' })
    await dock.getByText('Write a.txt.').waitFor()
    expect(await pageFaults(page)).toEqual([])
    await page.getByLabel('Changes to the plan').fill('Call it b.txt.')
    await page.keyboard.press('Enter')
    await dock.getByText('Write b.txt.').waitFor()
    expect(lastRequest()).toContain('Call it b.txt.')
    await dock.getByRole('button', { name: 'Approve the plan' }).click()
    await log().getByText('Written as planned.').waitFor()
    const wrote = log().getByText(/early\.txt|b\.txt/)
    await wrote.first().waitFor()
  })

  it('shortens the conversation', async () => {
    await log().getByText('Finished').waitFor()
    await send('/compact')
    await log().getByText('There is nothing to compact yet.').waitFor()
    service.upstream.next(
      says({ text: 'A swan it is.' }),
      says({ text: 'A goose it is.' }),
      says({ text: 'SUMMARY OF IT' }),
      says({ text: 'Still both.' }),
    )
    await log().getByText('Finished').nth(1).waitFor()
    await send(`A swan. ${'It swims. '.repeat(10)}`, 'A swan, and more. '.repeat(1300))
    await log().getByText('A swan it is.').waitFor()
    await log().getByText('Finished').nth(2).waitFor()
    await send('A goose.', 'A goose, and more. '.repeat(1300))
    await log().getByText('A goose it is.').waitFor()
    await log().getByText('Finished').nth(3).waitFor()
    await send('/compact', 'Keep the birds')
    await log()
      .getByText(/^Conversation summarized: [\d,]+ to [\d,]+ tokens$/)
      .waitFor()
    expect(lastRequest()).toContain('Keep the birds')
    await log().getByText('Finished').nth(4).waitFor()
    await send('And now?')
    await log().getByText('Still both.').waitFor()
    expect(lastRequest()).toContain('SUMMARY OF IT')
    expect(lastRequest()).not.toContain('A swan, and more.')
  })

  it('makes the agent forget', async () => {
    service.upstream.next(says({ text: 'Which one?' }))
    await log().getByText('Finished').nth(5).waitFor()
    await send('/clear', 'Which bird?')
    await log().getByText('Conversation cleared').waitFor()
    await log().getByText('Which one?').waitFor()
    expect(lastRequest()).not.toMatch(/swan|goose|SUMMARY/)
    expect(await pageFaults(page)).toEqual([])
  })

  it('never met the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
