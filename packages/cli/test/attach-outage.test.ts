import { expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { Home } from './people-service.ts'
import { ScriptedService, session } from './scripted-service.ts'

test('a terminal asks for a service that is away every few seconds, however long it is away', async () => {
  await using home = await Home.make()
  await using service = await ScriptedService.start(undefined, { stream: ({ response }) => response.socket?.destroy() })
  const it = new BerthProcess(['attach', session.id], {
    cwd: home.path,
    env: service.env,
    stdin: null,
    terminal: true,
  })
  await it.shows('stdout', /(?:reconnecting in.*?){5}/s)
  const pauses = [...it.stdout.matchAll(/reconnecting in ([\d.]+) (ms|s)/g)]
  for (const [shown, time, unit] of pauses)
    expect([shown, Number(time) / (unit === 's' ? 1 : 1000) < 4]).toEqual([shown, true])
  it.key('\u0003')
  expect(await it.ended()).toBe(0)
})
