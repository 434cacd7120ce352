import './styles.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/queries.ts'
import { startNotifying } from './notifications/notify.ts'
import { makeRouter } from './routing/router.tsx'
import { to } from './routing/to.ts'
import { watchTheme } from './theme/theme.ts'

watchTheme()
const router = makeRouter()
startNotifying(sessionId => void router.navigate(to.session(sessionId)))
const root = document.getElementById('root')
if (root === null) throw new Error('the page has no root')
createRoot(root).render(
  <CSPProvider disableStyleElements>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </CSPProvider>,
)
