import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { layerBundle, systemBundle } from './trust-files.ts'

const bundle = 'etc/ssl/certs/ca-certificates.crt'
let root: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'berth-layer-'))
  for (const tree of ['layer', 'outside']) {
    await mkdir(join(root, tree, dirname(bundle)), { recursive: true })
    await writeFile(join(root, tree, bundle), `of the ${tree}`)
  }
})
afterEach(() => rm(root, { recursive: true }))

test('the authorities of a layer are those of its own file', () => {
  expect(layerBundle(join(root, 'layer'))).toEqual({ path: `/${bundle}`, text: 'of the layer' })
})

test.each(['etc', 'etc/ssl', 'etc/ssl/certs', bundle])('a link at %s leads out of no layer', async link => {
  await rm(join(root, 'layer', link), { recursive: true })
  await symlink(join(root, 'outside', link), join(root, 'layer', link))
  expect(layerBundle(join(root, 'layer'))).toEqual({ text: systemBundle().text })
})

test('a layer that lies behind a link is read', async () => {
  await symlink(join(root, 'layer'), join(root, 'linked'))
  expect(layerBundle(join(root, 'linked')).text).toBe('of the layer')
})
