/**
 * Makes the folders of the packages that are published, to pack or publish each with npm.
 *
 *   node script/pack.ts [folder]     by default dist/packages
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { targetFolder } from './lib/target-folder.ts'
import { makeCliPackage } from './pack/cli-package.ts'
import { makeClientPackage } from './pack/client-package.ts'
import { root } from './pack/package-folder.ts'

const folder = targetFolder('script/pack.ts', join(root, 'dist/packages'))
rmSync(folder, { recursive: true, force: true })
await makeClientPackage(join(folder, 'client'))
await makeCliPackage(join(folder, 'cli'))
console.error(`made ${folder}/{client,cli}; npm publish each`)
