import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { search } from './search.ts'

const dir = mkdtempSync(join(tmpdir(), 'berth-search-'))
afterEach(() => {
  vi.unstubAllEnvs()
})
afterAll(() => rmSync(dir, { recursive: true }))

/** Searches a file with a grep that finds what the real one does, and then never ends if its locale is `locale`. */
async function searchWhileHanging(locale: string, pattern: string): Promise<string> {
  writeFileSync(join(dir, 'a.txt'), 'one\ntwo\n')
  const grep = join(dir, 'grep')
  writeFileSync(
    grep,
    `#!/bin/sh\nPATH=\${PATH#*:}\ngrep "$@"\nend=$?\n[ "$LC_ALL" != ${locale} ] || exec sleep 1000\nexit $end\n`,
  )
  chmodSync(grep, 0o755)
  vi.stubEnv('PATH', `${dir}:${process.env.PATH}`)
  const parameters = { pattern, path: 'a.txt' }
  const unused = undefined as never
  const { content } = await search(dir, 1_500).execute('call', parameters, undefined, undefined, unused)
  return content.map(block => (block.type === 'text' ? block.text : '')).join('')
}

describe('a search that takes too long', () => {
  const note = '[not everything was searched within 1.5 seconds; search a narrower path]'

  test.each([
    ['8-bit text', 'C'],
    ['UTF-8', 'C.UTF-8'],
  ])('in %s gives the lines that were found, and says that it was cut', async (_, locale) => {
    expect(await searchWhileHanging(locale, 'two')).toBe(`a.txt:2:two\n${note}`)
  })

  test('fails without a line, since it cannot say that there is none', async () => {
    await expect(searchWhileHanging('C', 'three')).rejects.toThrow('not everything was searched')
  })
})
