/** Writes the pages under `docs/` that are made from the code. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderCommands } from './docs/cli-page.ts'
import { renderSettings } from './docs/settings-page.ts'

writeFileSync(join(import.meta.dirname, '..', 'docs', 'settings.md'), renderSettings())
writeFileSync(join(import.meta.dirname, '..', 'docs', 'cli-reference.md'), renderCommands())
