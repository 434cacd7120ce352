import type { PlainDocument } from '@berth/client/documents'

/** Returns the lines in which people compare documents: the setup script has a line for each of its own. */
export function documentText(document: PlainDocument): string {
  const { setup, variables } = document
  const names = Object.keys(variables).toSorted()
  const shown = {
    ...document,
    setup: typeof setup === 'string' && setup !== '' ? setup.split('\n') : setup,
    variables: Object.fromEntries(names.map(name => [name, variables[name]])),
  }
  return `${JSON.stringify(shown, null, 2)}\n`
}
