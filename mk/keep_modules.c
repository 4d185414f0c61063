/* Linked into programs with sanitizers only. MPI's plug-ins stay loaded to the end, so that the leak checker
 * can recognize their leaks by the plug-ins' names (tests/lsan.supp). */
int dlclose(void *handle);
int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
