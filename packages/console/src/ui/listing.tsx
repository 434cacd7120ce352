import { useNavigate, useSearch } from '@tanstack/react-router'
import { ChevronLeft, ChevronRight, Search } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Listing as ListingSearch } from '../routing/to.ts'
import { IconButton } from './button.tsx'
import { inputClass } from './field.tsx'
import { counted } from './format.ts'
import { type Column, Table } from './table.tsx'

const pageSize = 25

/** Returns the state of a page's table from the URL, and a function that changes it. */
export function useListingSearch(): readonly [ListingSearch, (change: ListingSearch) => void] {
  const search = useSearch({ strict: false }) as ListingSearch
  const navigate = useNavigate()
  return [
    search,
    change => void navigate({ to: '.', search: before => ({ ...before, ...change }) as never, replace: true }),
  ]
}

/** A table of everything that was loaded, with a search and pages in the URL. */
export function Listing<Row>(props: {
  label: string
  noun: readonly [one: string, many: string]
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** The fields that the search covers. */
  textOf: (row: Row) => string
  children?: ReactNode
}) {
  const { label, noun, columns, rows, keyOf, textOf, children } = props
  const [{ q = '', page = 1 }, change] = useListingSearch()
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  const found = rows.filter(row => words.every(word => textOf(row).toLowerCase().includes(word)))
  const pages = Math.max(1, Math.ceil(found.length / pageSize))
  const at = Math.min(page, pages)
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <label className="relative min-w-52 flex-1 sm:max-w-72">
          <span className="sr-only">Search {noun[1]}</span>
          <Search
            className="pointer-events-none absolute top-1/2 left-2.5 size-3.5 -translate-y-1/2 text-ink-3"
            aria-hidden
          />
          <input
            type="search"
            value={q}
            placeholder={`Search ${noun[1]}`}
            onChange={event => change({ q: event.target.value || undefined, page: undefined })}
            className={`${inputClass} h-8 pl-8 max-lg:h-9`}
          />
        </label>
        {children}
        <p role="status" className="ml-auto text-xs text-ink-3 tabular-nums">
          {q === '' ? counted(rows.length, ...noun) : `${found.length} of ${counted(rows.length, ...noun)}`}
        </p>
      </div>
      {found.length === 0 ? (
        <p className="border-t border-line py-8 text-center text-ink-2">Nothing matches “{q}”.</p>
      ) : (
        <Table label={label} columns={columns} rows={found.slice((at - 1) * pageSize, at * pageSize)} keyOf={keyOf} />
      )}
      {pages > 1 && (
        <nav aria-label={`Pages of ${noun[1]}`} className="flex items-center justify-end gap-1 text-xs text-ink-2">
          <IconButton
            label="Previous page"
            disabled={at === 1}
            onClick={() => change({ page: at > 2 ? at - 1 : undefined })}
          >
            <ChevronLeft className="size-4" aria-hidden />
          </IconButton>
          <span className="tabular-nums">
            Page {at} of {pages}
          </span>
          <IconButton label="Next page" disabled={at === pages} onClick={() => change({ page: at + 1 })}>
            <ChevronRight className="size-4" aria-hidden />
          </IconButton>
        </nav>
      )}
    </div>
  )
}
