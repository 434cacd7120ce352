import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { taskOf } from '@berth/testing/agents/tasks.ts'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { prompted, type Size, TerminalWindow } from '@berth/testing/browser/terminal-window.ts'
import { localRepository } from '@berth/testing/git/local-repository.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

// Shows terminals in an emulator of a browser: only there a line that is too long, or drawn over another, is seen.

/** Where npm puts `berth`, which runs the bundle as it was built. */
const programs = fileURLToPath(new URL('../../../node_modules/.bin', import.meta.url))

const stack = new AsyncDisposableStack()
let service: TestService
let home: string
let browser: Browser
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  service = stack.use(
    await startTestService({ variables: { BERTH_ROLES: 'api,gateway,worker' }, config: { runtimes } }),
  )
  await localRepository(service, 'sample/greeter')
  home = await mkdtemp(join(tmpdir(), 'berth-terminal-'))
  stack.defer(() => rm(home, { recursive: true }))
  browser = await launchChromium()
  stack.defer(() => browser.close())
})
afterAll(() => stack.disposeAsync())

function open(size: Size, ...commands: readonly string[]): TerminalWindow {
  const env = {
    PATH: `${programs}${delimiter}${process.env.PATH ?? ''}`,
    ...{ HOME: home, BERTH_URL: service.url, BERTH_API_KEY: service.tenant.apiKey, GIT_PAGER: 'cat' },
  }
  return stack.use(new TerminalWindow(commands.map(prompted).join('; '), size, { cwd: home, env }))
}

describe('a person at a terminal', () => {
  it('sees an agent at work, and allows what it asks for', async () => {
    const session = await service.api.createSession({ runtime: 'scripted' }, taskOf('login'))
    await until('a question', async () => {
      const { body } = await service.api.get<{ interactions: unknown[] }>(`/v1/sessions/${session.id}/interactions`)
      return body.interactions.length > 0
    })
    const size = { columns: 96, rows: 32 }
    const terminal = open(size, `berth attach ${session.id}`)
    await terminal.prints(/Allow it\?/)
    const approval = await terminal.seen(browser, 'approval')
    expect(approval.join('\n')).toMatch(/npx vitest run login.*rm -rf build.*Allow it\? y yes/s)
    terminal.type('y\r')
    await terminal.prints(/completed/)
    terminal.type('\u0004')
    await terminal.ended()
    const lines = await terminal.seen(browser, 'attach')
    expect(lines.join('\n')).toMatch(/Done: the build is clean.*completed/s)
    // The changing lines below were taken away, and nothing was drawn over a line that stays.
    expect(lines.filter(line => /working…|waiting for|Allow it\?/.test(line))).toEqual([])
  })

  it('runs a command in a sandbox, reviews what it changed, and delivers it', async () => {
    const terminal = open(
      { columns: 96, rows: 30 },
      `berth run --runtime shell --repository sample/greeter --follow 'echo "Buenos días" > greeting.txt; git status --short'`,
      'session=$(berth sessions list --limit 1 | cut -f 1)',
      'berth review "$session" --patch',
      'berth publish "$session" --title "Greet in Spanish"',
      'berth merge "$session" --strategy squash',
      'berth sessions list',
    )
    await terminal.ended()
    const text = (await terminal.seen(browser, 'deliver')).join('\n')
    expect(text).toMatch(/\?\? greeting\.txt.*completed.*\+Buenos días.*pull request #1.*merge \S+ pull request #1/s)
  })
})
