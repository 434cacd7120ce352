import type { PortPreview } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { call } from '../api/client.ts'

/** Opens an agent's work in a tab of another site, by a link that `path` below `/cloud` gives. */
export function usePreviewTab(path: string) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (tab: Window | null) => {
      try {
        const { url } = await call<Pick<PortPreview, 'url'>>('POST', path)
        if (tab === null) location.assign(url)
        else tab.location.replace(url)
      } catch (error) {
        tab?.close()
        throw error
      }
    },
  })
  const open = () => {
    // Opened in the click itself, since browsers block tabs that open later. It must not reach this page.
    const tab = window.open('about:blank', '_blank')
    if (tab !== null) tab.opener = null
    mutate(tab)
  }
  return { open, isPending, error }
}
