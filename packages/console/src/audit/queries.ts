import type { AuditEntryPage, AuditFacets } from '@berth/contract'
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { saveFile } from '../api/save-file.ts'
import type { AuditSearch } from '../routing/to.ts'

const queryOf = (search: AuditSearch, more: Readonly<Record<string, string>> = {}): string =>
  String(
    new URLSearchParams([
      ...Object.entries(search).filter(([, value]) => value !== undefined),
      ...Object.entries(more),
    ]),
  )

/** Entries of the audit log, newest first. */
export const auditQuery = (search: AuditSearch) =>
  infiniteQueryOptions({
    queryKey: ['audit', search],
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam }) =>
      call<AuditEntryPage>('GET', `audit?${queryOf(search, pageParam === '' ? {} : { cursor: pageParam })}`),
    initialPageParam: '',
    getNextPageParam: page => (page.hasMore ? (page.nextCursor ?? undefined) : undefined),
  })

/** The filters of the log. */
export const auditFacetsQuery = queryOptions({
  queryKey: ['audit-facets'],
  staleTime: 60_000,
  queryFn: () => call<AuditFacets>('GET', 'audit/facets'),
})

/** Saves every entry that is looked for. @throws BerthError if the service refuses */
export const saveAudit = (search: AuditSearch): Promise<void> => saveFile(`audit/export?${queryOf(search)}`)
