import { isDay, measures, ranges } from '../usage/choices.ts'
import {
  type AuditSearch,
  deliveryStatuses,
  type EnvironmentListSearch,
  type EnvironmentSearch,
  environmentTabs,
  type GitAccountsSearch,
  type Listing,
  type NewSessionSearch,
  type PullListSearch,
  type PullSearch,
  panels,
  pullFilters,
  type SessionListSearch,
  type SessionSearch,
  stateFilters,
  type UsageSearch,
  usageGroupings,
} from './to.ts'

type Unread = Readonly<Record<string, unknown>>

/** Reads the filters of the list. Anything else in the URL is dropped, never an error: people edit URLs. */
export function readListSearch({ q, state, everyone, repository, archived }: Unread): SessionListSearch {
  return {
    // The router parses numbers, and people search for them.
    ...((typeof q === 'string' && q !== '') || typeof q === 'number' ? { q: String(q) } : {}),
    ...(stateFilters.some(known => known === state) ? { state: state as SessionListSearch['state'] } : {}),
    ...(everyone === true ? { everyone } : {}),
    ...(typeof repository === 'string' && /^[a-z]{1,20}:[0-9]{1,20}$/.test(repository) ? { repository } : {}),
    ...(archived === true ? { archived } : {}),
  }
}

/** Reads the state of a Session's page besides the transcript. */
export function readSessionSearch({ panel, event, file, line, at, merge, artifact }: Unread): SessionSearch {
  return {
    ...(panels.some(known => known === panel) ? { panel: panel as SessionSearch['panel'] } : {}),
    ...(Number.isSafeInteger(event) && Number(event) > 0 ? { event: Number(event) } : {}),
    // The router parses numbers, and files are named so too.
    ...((typeof file === 'string' && file !== '') || typeof file === 'number' ? { file: String(file) } : {}),
    ...(merge === true ? { merge } : {}),
    ...(typeof artifact === 'string' && artifact !== '' ? { artifact } : {}),
    ...(Number.isSafeInteger(line) && Number(line) > 0 ? { line: Number(line) } : {}),
    ...(at === 'base' || at === 'both' ? { at } : {}),
  }
}

/** Reads the values that a link puts into the form of a new Session. */
export function readNewSessionSearch({ q, repo, branch, agent, model, mode }: Unread): NewSessionSearch {
  const parts = Object.entries({ q, repo, branch, agent, model })
  // The router parses numbers, and people write them as a message or name branches so.
  const texts = parts.map(([name, value]) => [name, typeof value === 'number' ? String(value) : value])
  const filled = Object.fromEntries(texts.filter(([, value]) => typeof value === 'string' && value !== ''))
  return mode === 'plan' ? { ...filled, mode } : filled
}

/** Reads the filters of the list of pull requests. */
export function readPullListSearch({ state, everyone }: Unread): PullListSearch {
  return {
    ...(pullFilters.some(known => known === state) ? { state: state as PullListSearch['state'] } : {}),
    ...(everyone === true ? { everyone } : {}),
  }
}

export function readPullSearch({ session }: Unread): PullSearch {
  return typeof session === 'string' ? { session } : {}
}

export function readEnvironmentListSearch({ archived }: Unread): EnvironmentListSearch {
  return archived === true ? { archived } : {}
}

/** Reads which part of an environment's page is shown. */
export function readEnvironmentSearch({ tab }: Unread): EnvironmentSearch {
  return environmentTabs.some(known => known === tab) ? { tab: tab as EnvironmentSearch['tab'] } : {}
}

/** Reads the state of one of the organization's tables: its search, its page and the dialog over it. */
export function readListing({ q, page, dialog, of, ended, app, installation, status }: Unread): Listing {
  return {
    ...((typeof q === 'string' && q !== '') || typeof q === 'number' ? { q: String(q) } : {}),
    ...(Number.isSafeInteger(page) && Number(page) > 1 ? { page: Number(page) } : {}),
    ...(typeof dialog === 'string' && /^[a-z-]{1,32}$/.test(dialog) ? { dialog } : {}),
    ...(typeof of === 'string' && of !== '' ? { of } : {}),
    ...(ended === true ? { ended } : {}),
    ...(typeof app === 'string' && app !== '' ? { app } : {}),
    ...(typeof installation === 'string' && installation !== '' ? { installation } : {}),
    ...(deliveryStatuses.some(known => known === status) ? { status: status as Listing['status'] } : {}),
  }
}

/** Reads where to go back to: a path of this page, never another site. */
export function readGitAccountsSearch({ back }: Unread): GitAccountsSearch {
  return typeof back === 'string' && /^\/(?![/\\])/.test(back) ? { back } : {}
}

/** Reads the filters of a usage report. */
export function readUsageSearch({ by, whose, measure, range, from, to }: Unread): UsageSearch {
  return {
    ...(usageGroupings.some(known => known === by) ? { by: by as UsageSearch['by'] } : {}),
    ...(whose === 'me' ? { whose } : {}),
    ...(measures.some(known => known === measure) ? { measure: measure as UsageSearch['measure'] } : {}),
    ...(isDay(from) && isDay(to)
      ? { from, to }
      : ranges.some(known => known === range)
        ? { range: range as UsageSearch['range'] }
        : {}),
  }
}

/** Reads which entries of the audit log are shown. */
export function readAuditSearch({ actor, action, target, from, to }: Unread): AuditSearch {
  const text = (value: unknown, longest: number) => {
    const read = typeof value === 'number' ? String(value) : value
    return typeof read === 'string' && read !== '' && read.length <= longest ? read : undefined
  }
  const read = {
    actor: text(actor, 100),
    action: text(action, 64),
    target: text(target, 200),
    from: isDay(from) ? from : undefined,
    to: isDay(to) ? to : undefined,
  }
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined))
}
