import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** What a template may name, each of which stands for one line or some. */
export const sectionParts = ['verification', 'checks', 'signals', 'people', 'models', 'links'] as const

export type SectionPart = (typeof sectionParts)[number]

/** The section of an organization without a template of its own. */
export const defaultSection = `---\n\n${sectionParts.map(part => `{${part}}`).join('\n')}`

/** Returns the first name in braces that stands for nothing; null if there is none. */
export function unknownPart(template: string): string | null {
  const names = template.matchAll(/\{([a-zA-Z_]+)\}/g).map(([, name = '']) => name)
  return names.find(name => !sectionParts.some(part => part === name)) ?? null
}

/** Returns the template of the section in an organization's pull requests; null for the usual one, '' for none. */
export async function readSectionTemplate(db: Queryable, organizationId: string): Promise<string | null> {
  const { rows } = await db.query<{ template: string | null }>({
    name: 'read-section-template',
    text: 'select pull_request_section as template from organizations where id = $1',
    values: [organizationId],
  })
  return rows[0]?.template ?? null
}

/** Sets it, from the next Publication on. */
export async function setSectionTemplate(
  tx: Queryable,
  organizationId: string,
  template: string | null,
): Promise<void> {
  await tx.query({
    name: 'set-section-template',
    text: 'update organizations set pull_request_section = $2 where id = $1',
    values: [organizationId, template],
  })
}
