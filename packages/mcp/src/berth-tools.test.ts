import * as library from '@modelcontextprotocol/server'
import { expect, it, vi } from 'vitest'
import { berthTools } from './berth-tools.ts'
import { resultOf } from './tool.ts'

vi.mock('@modelcontextprotocol/server', async load => {
  const real = await load<typeof library>()
  return { ...real, fromJsonSchema: vi.fn(real.fromJsonSchema) }
})

it('compiles no schema for a request, since the library would keep it', () => {
  const make = berthTools({ client: {} as never, isPerson: false })
  vi.mocked(library.fromJsonSchema).mockClear()
  for (let made = 0; made < 3; made += 1) make()
  expect(library.fromJsonSchema).not.toHaveBeenCalled()
})

it('passes nothing on that a terminal obeys', () => {
  const { content } = resultOf({ text: 'a\u001b[2Jb\r\n\tc\u202ed', data: {} })
  expect(content).toEqual([{ type: 'text', text: 'a\ufffd[2Jb\n\tc\ufffdd' }])
})
