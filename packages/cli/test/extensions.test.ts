import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { startTestService, type TestService } from '@berth/testing/testing.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { Home } from './people-service.ts'

let service: TestService
let home: Home
beforeAll(async () => {
  service = await startTestService({
    variables: { BERTH_ROLES: 'api' },
    config: { extensions: { catalog: [{ slug: 'gone', path: '/nowhere/gone.zip' }] } },
    prepare: async dataDir => mkdirSync(join(dataDir, 'extensions')),
  })
})
afterAll(() => service[Symbol.asyncDispose]())
beforeEach(async () => {
  home = await Home.make()
})
afterEach(() => home[Symbol.asyncDispose]())

async function berth(...args: readonly string[]) {
  const it = new BerthProcess(args, {
    cwd: home.path,
    env: { BERTH_URL: service.url, BERTH_API_KEY: service.api.key },
  })
  const code = await it.ended()
  return { code, out: it.stdout, err: it.stderr }
}

const write = (files: Readonly<Record<string, unknown>>) => {
  for (const [name, value] of Object.entries(files)) {
    const path = join(home.path, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  }
}

const skill = '---\nname: greet\ndescription: Greets\n---\nSay hello.\n'

describe('berth extension', () => {
  test('packs, uploads and lists a plugin of another layout, whose document then names it', async () => {
    write({
      'plugin/plugin.json': { name: 'My Tools!', version: '1.2.0', hooks: './hooks.json', skills: './abilities' },
      'plugin/abilities/greet/SKILL.md': skill,
      'plugin/bin/server.sh': '#!/bin/sh\n',
      'plugin/mcp.json': { mcpServers: {} },
      'plugin/.git/HEAD': 'ref: x',
      'berth.env.json': { document: { name: 'with tools' } },
    })
    chmodSync(join(home.path, 'plugin/bin/server.sh'), 0o755)
    const packed = await berth('extension', 'pack', 'plugin', '--json')
    expect(packed).toMatchObject({ code: 0, err: '' })
    const { file, id, version, sha256, leftOut } = JSON.parse(packed.out)
    expect([file, id, version, leftOut]).toEqual(['my-tools-1.2.0.zip', 'my-tools', '1.2.0', ['hooks']])
    const again = await berth('extension', 'pack', 'plugin', '--output', 'again.zip', '--json')
    expect(JSON.parse(again.out).sha256).toBe(sha256)

    expect((await berth('env', 'apply')).code).toBe(0)
    const uploaded = await berth('extension', 'upload', file)
    expect(uploaded).toMatchObject({ code: 0, err: '' })
    const archive = `sha256:${sha256}`
    expect(JSON.parse(uploaded.out.split('\n')[1] ?? '')).toEqual({ archive })
    const filed = JSON.parse(readFileSync(join(home.path, 'berth.env.json'), 'utf8'))
    write({ 'berth.env.json': { ...filed, document: { ...filed.document, extensions: [{ archive }] } } })
    expect(await berth('env', 'apply')).toMatchObject({ code: 0, err: '' })
    const { body } = await service.api.get(`/v1/environments/${filed.id}`)
    expect(body).toMatchObject({ environment: { archives: [{ extension: { id: 'my-tools', name: 'My Tools!' } }] } })

    writeFileSync(join(service.dataDir, 'extensions', file), readFileSync(join(home.path, file)))
    expect(await berth('extension', 'list')).toEqual({
      ...{ code: 0, out: 'my-tools\t1.2.0\tMy Tools!\n' },
      err: 'the extension gone cannot be had now (unavailable)\n',
    })
  })

  test.each<[string, object]>([
    ['.claude-plugin/plugin.json', { name: 'claude-tools', version: '0.1.0', mcpServers: './.mcp.json' }],
    ['.codex-plugin/plugin.json', { name: 'codex-tools', version: '0.1.0', skills: './skills/' }],
    ['gemini-extension.json', { name: 'gemini_tools', version: '0.1.0', mcpServers: { one: { command: 'x' } } }],
    ['extension.json', { id: 'own', name: 'Own', version: '1.0.0', compat: { pluginApi: '^1' } }],
  ])('packs %s into what the service takes', async (name, manifest) => {
    write({
      [`plugin/${name}`]: manifest,
      'plugin/skills/greet/SKILL.md': skill,
      'plugin/.mcp.json': { mcpServers: {} },
      'berth.env.json': { document: { name } },
    })
    expect(await berth('extension', 'pack', 'plugin', '-o', 'it.zip')).toMatchObject({ code: 0, err: '' })
    await berth('env', 'apply')
    expect(await berth('extension', 'upload', 'it.zip')).toMatchObject({ code: 0, err: '' })
  })

  test('refuses a directory without a manifest, and a link', async () => {
    write({ 'plugin/README.md': 'nothing' })
    expect(await berth('extension', 'pack', 'plugin')).toMatchObject({
      code: 2,
      err: expect.stringContaining('no extension.json'),
    })
    write({ 'plugin/plugin.json': { name: 'a', version: '1.0.0' } })
    symlinkSync('/etc/passwd', join(home.path, 'plugin/link'))
    expect(await berth('extension', 'pack', 'plugin')).toMatchObject({
      code: 2,
      err: expect.stringContaining('link is neither'),
    })
  })
})
