import { Readable } from 'node:stream'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { expect, test } from 'vitest'
import { runInProject } from './run-in-project.ts'

test.each([
  ['is aborted before it starts', AbortSignal.abort(new Error('aborted')), 'aborted'],
  ['cannot start', new AbortController().signal, 'the sandbox is gone'],
])('the pack of a script that %s is closed', async (_, signal, message) => {
  const pack = Readable.from([Buffer.from('PACK')])
  const run = () => Promise.reject(new Error('the sandbox is gone'))
  const place = { run, objects: insidePaths.objects, before: 'a', after: 'b', pack }
  await expect(runInProject(place, 'true', {}, signal)).rejects.toThrow(message)
  expect(pack.destroyed).toBe(true)
})
