/*
 * Names of the OpenBLAS in the package scipy-openblas32 of Python's index, where each begins with scipy_. Compilers
 * include this header in front of all files where that library is linked (meson.build): each function of it that hinge
 * calls stands here.
 */
#ifndef HG_SCIPY_OPENBLAS_H
#define HG_SCIPY_OPENBLAS_H

#define LAPACKE_dpotrf_work scipy_LAPACKE_dpotrf_work
#define LAPACKE_dsyevr_work scipy_LAPACKE_dsyevr_work
#define LAPACKE_dsytrf_work scipy_LAPACKE_dsytrf_work
#define LAPACKE_dsytrs_work scipy_LAPACKE_dsytrs_work
#define cblas_daxpy scipy_cblas_daxpy
#define cblas_ddot scipy_cblas_ddot
#define cblas_dgemm scipy_cblas_dgemm
#define cblas_dgemv scipy_cblas_dgemv
#define cblas_dscal scipy_cblas_dscal
#define cblas_dsyrk scipy_cblas_dsyrk
#define cblas_dtrsm scipy_cblas_dtrsm
#define cblas_dtrsv scipy_cblas_dtrsv
#define cblas_sgemm scipy_cblas_sgemm
#define cblas_sgemv scipy_cblas_sgemv
#define openblas_get_config scipy_openblas_get_config
#define openblas_get_corename scipy_openblas_get_corename
#define openblas_get_num_threads scipy_openblas_get_num_threads
#define openblas_get_parallel scipy_openblas_get_parallel

#endif
