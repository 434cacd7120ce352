/** Writes the pages under `docs/` that are made from the code. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderCommands } from './docs/cli-page.ts'
import { renderErrors } from './docs/errors-page.ts'
import { renderEvents } from './docs/events-page.ts'
import { renderReferenceCommands } from './docs/reference-commands.ts'
import { renderSettings } from './docs/settings-page.ts'
import { renderTables } from './docs/tables-page.ts'

const pages = {
  'settings.md': renderSettings,
  'cli-reference.md': renderCommands,
  'errors.md': renderErrors,
  'events.md': renderEvents,
  'internals/tables.md': renderTables,
}
for (const [page, render] of Object.entries(pages)) {
  writeFileSync(join(import.meta.dirname, '..', 'docs', page), render())
}
writeFileSync(join(import.meta.dirname, '../packages/core/src/http/docs/commands.ts'), renderReferenceCommands())
