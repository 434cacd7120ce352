import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { withProgress } from '@berth/platform/kit/progress.ts'
import { sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { expect, it } from 'vitest'
import { checkOut, packedRefs } from './check-out.ts'
import { runGit } from './run-git.ts'

it('gives a clone the names of tags byte for byte, and reports the files that are written', async () => {
  const root = await mkdtemp(join(tmpdir(), 'berth-tags-'))
  const mirror = await sampleRepository(root)
  const oid = await tipOf(mirror, 'main')
  const names = ['caf\xe8', 'caf\xe9'].map(name => `refs/tags/${name}`)
  const created = Buffer.from(names.map(name => `create ${name} ${oid}\n`).join(''), 'latin1')
  await runGit(['update-ref', '--stdin'], { gitDir: mirror, input: created })
  const input = new PassThrough()
  const refs = buffer(input)
  const output = Readable.from(['Updating files:  50% (1/2)\rUpdating files: 100% (2/2), done.\n'])
  const program = { input, output, ended: refs.then(() => '0'), kill: () => {} }
  const { signal } = new AbortController()
  const ownNames = { branch: 'main', originUrl: null, refs: await packedRefs(mirror, 'main', oid, signal) }
  const order = { run: async () => program, objects: 'objects', names: ownNames, files: 'none', isKept: false } as const
  const done: number[] = []
  const watch = (progress: { readonly done: number }) => done.push(progress.done)
  await withProgress(watch, () => checkOut(order, signal))
  expect(done).toEqual([1, 2])
  expect((await refs).toString('latin1')).toContain(names.map(name => `${oid} ${name}\n`).join(''))
  await rm(root, { recursive: true })
})
