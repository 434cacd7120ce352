import type { OrganizationSettings } from '@berth/contract'

/** An organization's own settings for pull requests that are followed; null is the default. */
export type FollowUps = Pick<OrganizationSettings['followUps'], 'label' | 'assignee' | 'baseCommits'>

/** The fields of the form, with their defaults. */
export const followFields = [
  {
    name: 'label',
    label: 'Label',
    hint: 'Taking it off the pull request stops the follow-up.',
    usual: 'berth',
  },
  {
    name: 'assignee',
    label: 'Assignee',
    hint: 'A login. Unassigning it stops the follow-up. If nothing is here, an app counts, too.',
    usual: 'berth',
  },
  {
    name: 'baseCommits',
    label: 'Base ahead by (commits)',
    hint: 'Beyond it the base is merged into the work. If nothing is here, only if the host asks for it.',
    usual: 'No bound',
  },
] as const satisfies readonly { name: keyof FollowUps; label: string; hint: string; usual: string }[]

const faultOf: Readonly<Record<keyof FollowUps, (text: string) => string | undefined>> = {
  label: text => (text.length > 100 ? 'It may have 100 characters.' : undefined),
  assignee: text => (/^\S{0,100}$/.test(text) ? undefined : 'A login has no spaces, and at most 100 characters.'),
  baseCommits: text =>
    text === '' || (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 10_000)
      ? undefined
      : 'A whole number from 1 to 10,000.',
}

/**
 * Returns the text of each field, the faults, and the members that differ from what holds.
 * @param typed texts that somebody has typed over the present values
 */
export function readFollowUps(followUps: FollowUps, typed: Partial<Record<keyof FollowUps, string>>) {
  const names = followFields.map(({ name }) => name)
  const texts = Object.fromEntries(names.map(name => [name, typed[name] ?? String(followUps[name] ?? '')]))
  const read = names.map(name => {
    const text = texts[name]?.trim() ?? ''
    const value = text === '' ? null : name === 'baseCommits' ? Number(text) : text
    return { name, value, fault: faultOf[name](text) }
  })
  return {
    texts: texts as Readonly<Record<keyof FollowUps, string>>,
    faults: Object.fromEntries(read.flatMap(({ name, fault }) => (fault === undefined ? [] : [[name, fault]]))) as {
      readonly [name in keyof FollowUps]?: string
    },
    changed: Object.fromEntries(
      read.flatMap(({ name, value }) => (value === followUps[name] ? [] : [[name, value]])),
    ) as Partial<FollowUps>,
  }
}
